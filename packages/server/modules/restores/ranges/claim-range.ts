import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { restoreStore } from '../restore-store.ts';
import { isAbandoned } from '../run/abandoned.ts';
import type { ClaimedRange } from './range-meter.ts';
import { rangeStore } from './range-store.ts';

/** Which claim of a restore its ranges are written for. */
export interface RestoreClaim {
  organizationId: string;
  restoreId: string;
  epoch: number;
}

/** From here on a range is this worker's; the holder of the restore brings the target along. Undefined when there is none to take, or the restore has ended or has another holder. */
export async function claimRange(
  context: RestoresContext,
  { organizationId, restoreId, epoch }: RestoreClaim,
  targetOfHolder?: ProjectRow,
): Promise<ClaimedRange | undefined> {
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const isActive = targetOfHolder || (await context.organizations.active(transaction, organizationId));
    const restore = await restoreStore.findLocked(transaction, organizationId, restoreId);
    if (!isActive || restore?.status !== 'running' || restore.epoch !== epoch) return undefined;
    // Whoever takes up the restore decides whether it goes on at all.
    if (!targetOfHolder && (await isAbandoned(transaction, restore))) return undefined;
    const isStopped = restore.cancelRequestedAt !== null || restore.rangesStoppedAt !== null;
    if (isStopped || restore.checkpoint.stage !== 'puts') return undefined;
    const target =
      targetOfHolder ?? (await projectStore.findKept(transaction, organizationId, restore.targetProjectId));
    const claimed = target && (await rangeStore.claim(transaction, restore));
    return claimed && { restore, target, ...claimed, pace: await rangeStore.pace(transaction, restore) };
  });
}
