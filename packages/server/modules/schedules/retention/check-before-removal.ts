import { ClocksDisagree } from '../../../platform/clock-agreement.ts';
import { hourMs, later, minuteMs, secondMs } from '../../../platform/durations.ts';
import { admitVerifications, conditionOfBackup, verifyAgain } from '../../backups/index.ts';
import type { SchedulesContext } from '../context.ts';
import { loadState } from './project-state.ts';
import { type RetentionCheck, retentionCheckStore } from './retention-check-store.ts';
import { decideRetention } from './verdicts.ts';

const verifiedMs = 10 * minuteMs;

/**
 * Per project. A storage that does not answer in this time, or whose clock differs from ours, is asked again in an
 * hour.
 */
const lookMs = 15 * secondMs;

/**
 * `unknown`: a storage could not be asked; `broken`: something is missing. In both cases nothing is removed for now.
 */
export type Safety = 'safe' | 'broken' | 'unknown';

/**
 * Checks that the backups which stay are really there. After a restored catalogue, or because of a bucket rule or a
 * person, a project may have backups that exist only in the catalogue, and its last real backup must not be removed
 * because of them. The newest good backup of each scope is looked up in storage. If it is missing, it is verified,
 * which reports it, and nothing is removed meanwhile.
 */
export async function checkBeforeRemoval(
  context: SchedulesContext,
  { organizationId, projectId }: RetentionCheck,
  signal: AbortSignal,
): Promise<Safety> {
  const { database, clock, log } = context.backups.platform;
  const newest = await database.tenant(organizationId, async (transaction) => {
    const verdicts = [
      ...decideRetention(await loadState(context, transaction, organizationId, projectId, { lock: false })).values(),
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
