import type { Client } from '@holdfast/contract/client';
import { CommandFailure, wrongUsage } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';

/** People know names, the service knows ids: either will do wherever a project, a destination or a backup is named. */
export async function projectIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('prj_')) return reference;
  const projects = client.paginate('listProjects', { query: { limit: 200 } });
  const fits = (project: { name: string; sourceProjectId: string }) =>
    project.name === reference || project.sourceProjectId === reference;
  return await onlyOne(projects, fits, reference, 'PROJECT_NOT_FOUND', 'project');
}

export async function storageIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('dst_')) return reference;
  const destinations = client.paginate('listStorageDestinations', { query: { limit: 200 } });
  const fits = ({ name }: { name: string }) => name === reference;
  return await onlyOne(destinations, fits, reference, 'STORAGE_DESTINATION_NOT_FOUND', 'storage destination');
}

export async function scheduleIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('sch_')) return reference;
  const schedules = client.paginate('listSchedules', { query: { limit: 200 } });
  const fits = ({ name }: { name: string }) => name === reference;
  return await onlyOne(schedules, fits, reference, 'SCHEDULE_NOT_FOUND', 'schedule');
}

const latest = 'latest:';

/** An id, or `latest:<project>` for the newest completed one of everything: no safety backup, no part of the project. */
export async function backupIdOf(client: Client, reference: string): Promise<string> {
  if (!reference.startsWith(latest)) return reference;
  const projectId = await projectIdOf(client, reference.slice(latest.length));
  for await (const backup of client.paginate('listBackups', { query: { projectId, status: 'completed', limit: 200 } }))
    if (backup.trigger !== 'pre_restore' && backup.collections.includes('*')) return backup.id;
  throw notFound(
    'BACKUP_NOT_FOUND',
    'The project has no completed backup of everything. `backup list` shows what there is.',
  );
}

async function onlyOne<T extends { id: string }>(
  candidates: AsyncIterable<T>,
  fits: (candidate: T) => boolean,
  reference: string,
  code: string,
  kind: string,
): Promise<string> {
  const found: T[] = [];
  for await (const candidate of candidates) if (fits(candidate)) found.push(candidate);
  if (found.length > 1) throw wrongUsage(`Several have this name, say which: ${found.map(({ id }) => id).join(', ')}`);
  if (found[0] === undefined) throw notFound(code, `There is no ${kind} ${reference}.`);
  return found[0].id;
}

export function notFound(code: string, message: string): CommandFailure {
  return new CommandFailure(code, message, { exit: exitCode.notFound });
}
