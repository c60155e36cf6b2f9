import { documentsIn, type Model } from './model.ts';
import type { World } from './world.ts';

export interface ScheduledStep {
  readonly do: 'scheduled';
  readonly type: 'full' | 'incremental';
}

/** How many backups of the schedule its policy keeps. */
export const scheduleKeeps = 2;

/** A manual run of a schedule: its policy decides how long its backups are kept. */
export async function runSchedule(world: World, model: Model, { type }: ScheduledStep): Promise<string[]> {
  const { id: projectId, live } = world.projects[0]!;
  model.scheduleIds[type] ??= (
    await world.must('POST', '/schedules', {
      projectId,
      name: `nightly ${type}`,
      cron: '0 3 1 1 *',
      type,
      retentionPolicy: { last: scheduleKeeps },
    })
  ).id;
  const scheduleId = model.scheduleIds[type];
  const { id } = await world.must('POST', `/schedules/${scheduleId}/run`, {});
  const ended = await world.untilEnded(`/backups/${id}`);
  const documents = documentsIn({}, await live.read());
  const isDamage = ended.error?.code === 'INTEGRITY_ERROR' && type === 'incremental' && model.damage.isAny;
  if (ended.status !== 'completed' && (model.isAway || isDamage)) return [];
  if (ended.status !== 'completed') return [`a scheduled backup ${ended.status}: ${JSON.stringify(ended.error)}`];
  const fact = { id, project: 0, part: {}, documents, isSafety: false, retentionDays: null, scheduleId };
  model.backups.push({ ...fact, isHeld: false, isGone: false });
  return [];
}
