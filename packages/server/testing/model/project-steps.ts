import type { Model } from './model.ts';
import type { World } from './world.ts';

export interface ReconnectStep {
  readonly do: 'reconnect';
  readonly project: number;
}

/** A project is disconnected and its database connected anew: its backups stay, and a restore brings them back there. */
export async function reconnect(world: World, model: Model, { project }: ReconnectStep): Promise<string[]> {
  const answer = await world.call('DELETE', `/projects/${world.projects[project]!.id}`);
  if (answer.status >= 300) return [`a project could not be disconnected: ${answer.text}`];
  await world.connectAgain(project);
  for (const backup of model.backups) if (backup.project === project) model.former.add(backup.id);
  for (const restore of model.restores) if (restore.target === project) restore.isTargetGone = true;
  if (project === 0) model.scheduleIds = {};
  return [];
}
