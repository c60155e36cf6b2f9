import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '@holdfast/contract';
import { Problem } from '../../../platform/problem.ts';
import type { RestoresContext } from '../context.ts';
import { runRestoreRangeJob } from '../jobs.ts';
import type { OpenRestore } from '../run/put-options.ts';
import type { RestoreTracker } from '../run/restore-tracker.ts';
import { superseded } from '../run/write-tracker.ts';
import { claimRange } from './claim-range.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { rangeStore } from './range-store.ts';
import { RangeTracker } from './range-tracker.ts';
import { writeRange } from './write-range.ts';

const pollMs = 200;

/**
 * Writes all ranges of a restore, together with other workers. Returns when all are written or the restore is
 * cancelled. When the worker of a range dies, the range is claimed again and continues from its checkpoint.
 */
export async function putRanges(context: RestoresContext, tracker: RestoreTracker, open: OpenRestore): Promise<void> {
  await inviteOthers(context, tracker);
  const { id, organizationId } = tracker.row;
  while (!tracker.cancelled.aborted) {
    const hasWritten = await oneAtATime(context.platform.database, id, () => writeNext(context, tracker, open));
    const {
      ranges,
      open: left,
      error,
    } = await context.platform.database.tenant(organizationId, (transaction) =>
      rangeStore.state(transaction, tracker.row),
    );
    if (error) throw new Problem(error.code as ErrorCode, error.message, { details: error.details ?? {} });
    if (ranges === 0) throw new Error('the ranges of a restore are gone');
    if (left === 0) return;
    if (!hasWritten) await sleep(pollMs, undefined, { signal: open.signal });
  }
}

/** Enqueues one job per range. The holder's own process runs at most one of them, which waits for its turn. */
async function inviteOthers(context: RestoresContext, tracker: RestoreTracker): Promise<void> {
  const { database, queue } = context.platform;
  const { row } = tracker;
  const { organizationId, id: restoreId, epoch } = row;
  await database.tenant(organizationId, async (transaction) => {
    if (!(await rangeStore.begin(transaction, row))) throw superseded();
    const { open } = await rangeStore.state(transaction, row);
    // Jobs of an organization with much work under way come later; its own ranges do not count.
    const priority = Math.min(0, open - (await rangeStore.countOpen(transaction, organizationId)));
    for (let count = 0; count < open; count++) {
      const data = { organizationId, restoreId, epoch };
      await queue.enqueue(transaction, runRestoreRangeJob, data, { key: `${restoreId}/${epoch}/${count}`, priority });
    }
  });
}

/** False when no range is free at the moment. */
async function writeNext(context: RestoresContext, tracker: RestoreTracker, open: OpenRestore): Promise<boolean> {
  const { organizationId, id: restoreId, epoch } = tracker.row;
  const claimed = await claimRange(context, { organizationId, restoreId, epoch }, tracker.work.target);
  if (!claimed) return false;
  const range = new RangeTracker(context, claimed);
  tracker.attachRange(range);
  try {
    await writeRange(context, range, open);
  } catch (error) {
    if (!range.lost.aborted) {
      await range.flush().catch(() => undefined);
      throw error;
    }
    // Another worker took over the range or the whole restore. The flush throws if it was the restore.
    await tracker.flush();
  } finally {
    tracker.attachRange(undefined);
    await range.release();
  }
  return true;
}
