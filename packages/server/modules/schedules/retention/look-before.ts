import { hourMs, later, minuteMs, secondMs } from '../../../platform/durations.ts';
import { ClocksDisagree } from '../../../platform/same-time.ts';
import { admitVerifications, conditionOfBackup, verifyAgain } from '../../backups/index.ts';
import type { SchedulesContext } from '../context.ts';
import { loadState } from './project-state.ts';
import { type RetentionCheck, retentionCheckStore } from './retention-check-store.ts';
import { judge } from './verdicts.ts';

const verifiedMs = 10 * minuteMs;

/** Of one project. A storage that does not answer in this time, or tells another time than ours, is asked again in an hour. */
const lookMs = 15 * secondMs;

/** `unknown`: a storage could not be asked; `broken`: something is missing. In both cases nothing goes for now. */
export type Safety = 'safe' | 'broken' | 'unknown';

/**
 * Whether what stays in the stead of what goes is really there. A catalogue of an older day, a rule of the bucket or a person can
 * have left a project with backups that exist in the catalogue alone; the last real one must not go for their sake. The newest
 * good backup of everything is looked for; one that is gone is verified, which tells everybody, and nothing goes meanwhile.
 */
export async function lookBefore(
  context: SchedulesContext,
  { organizationId, projectId }: RetentionCheck,
  signal: AbortSignal,
): Promise<Safety> {
  const { database, clock, log } = context.backups.platform;
  const newest = await database.tenant(organizationId, async (transaction) => {
    const verdicts = [
      ...judge(await loadState(context, transaction, organizationId, projectId, { lock: false })).values(),
    ];
    const isSomethingDue = verdicts.some(({ keptBy }) => keptBy.length === 0);
    return isSomethingDue ? verdicts.filter(({ keptBy }) => keptBy.includes('newest_of_project')) : [];
  });
  const patience = AbortSignal.timeout(lookMs);
  const broken: string[] = [];
  let isUnknown = false;
  for (const { id } of newest) {
    const look = conditionOfBackup(context.backups, organizationId, id, AbortSignal.any([signal, patience]));
    const found = await look.catch((error: unknown) => {
      if (error instanceof ClocksDisagree) log.warn({ organizationId, projectId, backupId: id }, error.message);
      else if (!patience.aborted || signal.aborted) throw error;
      return 'unknown' as const;
    });
    if (found === 'broken') broken.push(id);
    isUnknown ||= found === 'unknown';
  }
  if (broken.length === 0 && !isUnknown) return 'safe';
  log.warn({ organizationId, projectId, broken }, 'nothing expires: the newest backup was not found whole');
  await database.tenant(organizationId, async (transaction) => {
    for (const id of broken) await verifyAgain(context.backups, transaction, organizationId, id);
    const again = later(clock.now(), broken.length > 0 ? verifiedMs : hourMs);
    await retentionCheckStore.postpone(transaction, organizationId, projectId, again);
  });
  if (broken.length === 0) return 'unknown';
  await admitVerifications(context.backups.platform);
  return 'broken';
}
