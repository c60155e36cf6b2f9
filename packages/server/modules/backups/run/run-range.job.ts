import { openView, type RangeState, runRange } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { runJob } from '../../jobs/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, loadBackup, openCopies } from '../load-backup.ts';
import { enqueueFinish } from './admission.ts';
import { failBackup } from './end-backup.ts';
import { reportProgress } from './progress.ts';
import { type RangeRow, rangeStore } from './range-store.ts';
import { RangeTracker } from './range-tracker.ts';

type Job = RunningJob<{ organizationId: string; backupId: string; range: number }>;

interface ClaimedRange {
  loaded: LoadedBackup;
  range: RangeRow;
}

/** Reads one range from its last checkpoint, and saves a checkpoint after every stored segment. */
export async function runRangeWork(context: BackupsContext, job: Job): Promise<void> {
  const claimed = await claim(context, job);
  if (claimed) await runClaimed(context, job, claimed);
  await enqueueFinishIfComplete(context, job.data.organizationId, job.data.backupId);
}

/** Claims the range for this worker. Undefined when there is nothing left to read. */
async function claim(context: BackupsContext, { data }: Job): Promise<ClaimedRange | undefined> {
  const { organizationId, backupId } = data;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (loaded?.row.status !== 'running' || !loaded.row.plan) return undefined;
    const range = await rangeStore.claim(transaction, organizationId, backupId, data.range);
    return range && !range.isComplete ? { loaded, range } : undefined;
  });
}

async function runClaimed(context: BackupsContext, job: Job, { loaded, range }: ClaimedRange): Promise<void> {
  const { platform } = context;
  const { row } = loaded;
  const tracker = new RangeTracker(context, range);
  await runJob({
    platform,
    job,
    record: { backupId: row.id, range: range.range },
    check: async (waitingFor) => {
      await tracker.save({});
      return reportProgress(context, row, { waitingFor });
    },
    work: (signal) => read(context, loaded, tracker, signal),
    countFailure: async () => {
      const failures = range.failures + 1;
      await platform.database.tenant(row.organizationId, (transaction) =>
        rangeStore.save(transaction, range, { failures }),
      );
      return failures;
    },
    fail: async (reason) => void (await failBackup(context, row, reason)),
  });
}

async function read(
  context: BackupsContext,
  loaded: LoadedBackup,
  tracker: RangeTracker,
  signal: AbortSignal,
): Promise<void> {
  const { row } = loaded;
  const plan = row.plan!;
  const { codec, buffers } = context.engine;
  const keys = await BackupKeyRing.load(context, row.organizationId);
  const dataKey = await keys.unwrap(row.id, row.envelope);
  const firestore = await context.sources.open(loaded.project);
  tracker.readsFrom(() => firestore.source.usage.documentsRead);
  const store = await openCopies(context, loaded);
  try {
    const parentView = plan.parent && (await openView({ store, backupId: plan.parent.backupId, keys, codec, signal }));
    const state = await runRange({
      plan,
      range: tracker.range.range,
      source: firestore.source,
      store,
      dataKey,
      codec,
      buffers,
      signal,
      onRead: (documents, bytes) => tracker.add(documents, bytes),
      onCheckpoint: (checkpoint) => tracker.save({ state: checkpoint }),
      ...(tracker.range.state ? { resumeFrom: tracker.range.state } : {}),
      ...(parentView ? { parentView } : {}),
    });
    await tracker.save({ state: state as RangeState, isComplete: true });
  } finally {
    await Promise.allSettled([store.close(), firestore.close()]);
  }
  await reportProgress(context, row);
}

/** The last range to complete enqueues the finish. Doing that once too often does no harm. */
async function enqueueFinishIfComplete(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
): Promise<void> {
  const { database, queue } = context.platform;
  await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.find(transaction, organizationId, backupId);
    if (row?.status !== 'running' || row.plan === null) return;
    const { open } = await rangeStore.totals(transaction, organizationId, backupId);
    if (open === 0) await enqueueFinish(queue, transaction, row);
  });
}
