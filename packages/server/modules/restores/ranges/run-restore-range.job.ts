import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { runJob } from '../../jobs/index.ts';
import type { RestoresContext } from '../context.ts';
import { hardStop } from '../run/hard-stop.ts';
import { openRestoreSource } from '../run/open-restore-source.ts';
import { openSafetyBackup } from '../run/safety-backup.ts';
import { claimRange, type RestoreClaim } from './claim-range.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { type ClaimedRange, RangeTracker } from './range-tracker.ts';
import { writeRange } from './write-range.ts';

/** Writes one free range of a restore that another worker may hold. */
export async function runRestoreRange(context: RestoresContext, job: RunningJob<RestoreClaim>): Promise<void> {
  await oneAtATime(context.platform.database, job.data.restoreId, async () => {
    job.signal.throwIfAborted();
    const claimed = await claimRange(context, job.data);
    if (claimed) await runClaimed(context, job, claimed);
  });
}

async function runClaimed(
  context: RestoresContext,
  job: RunningJob<RestoreClaim>,
  claimed: ClaimedRange,
): Promise<void> {
  const tracker = new RangeTracker(context, claimed);
  try {
    await runJob({
      platform: context.platform,
      job,
      record: { restoreId: claimed.restore.id, range: claimed.range.range },
      check: (waitingFor) => tracker.check(waitingFor),
      work: (signal) => write(context, tracker, AbortSignal.any([signal, hardStop(tracker.cancelled)])),
      countFailure: () => tracker.countFailure(),
      fail: (reason) => tracker.fail(toJobError(reason)),
    });
  } finally {
    await tracker.release();
  }
}

async function write(context: RestoresContext, tracker: RangeTracker, signal: AbortSignal): Promise<void> {
  const { row } = tracker;
  const firestore = await context.sources.open(tracker.target);
  try {
    const source = await openRestoreSource(context, row, signal);
    try {
      const before = await openSafetyBackup(context, row, signal);
      try {
        await writeRange(context, tracker, { firestore, view: source.view, before: before?.view, signal });
      } finally {
        await before?.close();
      }
    } finally {
      await source.close();
    }
  } finally {
    await firestore.close();
  }
}
