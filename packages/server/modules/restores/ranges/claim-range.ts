import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { restoreStore } from '../restore-store.ts';
import { isAbandoned } from '../run/abandoned.ts';
import { rangeStore } from './range-store.ts';
import type { ClaimedRange } from './range-tracker.ts';

/** The claim of a restore for which ranges are written. */
export interface RestoreClaim {
  organizationId: string;
  restoreId: string;
  epoch: number;
}

/**
 * Claims a range for this worker. The holder of the restore passes the target itself. Undefined when no range is free,
 * or when the restore has ended or has another holder.
 */
export async function claimRange(
  context: RestoresContext,
  { organizationId, restoreId, epoch }: RestoreClaim,
  targetOfHolder?: ProjectRow,
): Promise<ClaimedRange | undefined> {
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const isActive = targetOfHolder || (await context.organizations.active(transaction, organizationId));
    const restore = await restoreStore.findLocked(transaction, organizationId, restoreId);
    if (!isActive || restore?.status !== 'running' || restore.epoch !== epoch) return undefined;
    // The worker that takes over the restore decides whether it goes on.
    if (!targetOfHolder && (await isAbandoned(transaction, restore))) return undefined;
    const isStopped = restore.cancelRequestedAt !== null || restore.rangesStoppedAt !== null;
    if (isStopped || restore.checkpoint.stage !== 'puts') return undefined;
    const target =
      targetOfHolder ?? (await projectStore.findKept(transaction, organizationId, restore.targetProjectId));
    const claimed = target && (await rangeStore.claim(transaction, restore));
    return claimed && { restore, target, ...claimed, pace: await rangeStore.pace(transaction, restore) };
  });
}
