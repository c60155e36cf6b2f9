import { type KeyRing, openView, type RangeState, runRange, type View } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { backupStore, type RangeRow, rangeStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { finishBackupJob } from '../jobs.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, loadBackup, openCopies } from '../load-backup.ts';
import type { CopiesStore } from '../storage/copies-store.ts';
import { failBackup, mayPass } from './end-backup.ts';
import { reasonOf, reportProgress, Superseded, tooLate } from './progress.ts';

type Job = RunningJob<{ organizationId: string; backupId: string; range: number }>;

const tickMs = 1000;

/** Reads one range from where its last checkpoint stands, and checkpoints after every stored segment. */
export async function runRangeWork(context: BackupsContext, job: Job): Promise<void> {
  const { database } = context.platform;
  const { organizationId, backupId, range } = job.data;
  const claimed = await database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (loaded?.row.status !== 'running' || !loaded.row.plan) return undefined;
    const row = await rangeStore.claim(transaction, organizationId, backupId, range);
    return row && !row.isComplete ? { loaded, row } : undefined;
  });
  if (!claimed) return enqueueFinishIfDone(context, organizationId, backupId);
  try {
    await work(context, claimed.loaded, claimed.row, job);
  } catch (error) {
    await handleFailure(context, claimed.row, job, error);
  }
}

async function work(context: BackupsContext, loaded: LoadedBackup, row: RangeRow, job: Job): Promise<void> {
  const { clock } = context.platform;
  const plan = loaded.row.plan!;
  const ring = await BackupKeyRing.load(context, row.organizationId);
  const dataKey = await ring.unwrap(row.backupId, loaded.row.envelope);
  const firestore = await context.sources.open(loaded.project);
  const store = await openCopies(context, loaded);
  const meter = new RangeMeter(row, () => firestore.source.usage.documentsRead);
  const stop = new AbortController();
  const ticking = tick(context, meter, stop);
  try {
    const parentView = plan.parent
      ? await openParentView(context, store, plan.parent.backupId, ring, job.signal)
      : undefined;
    const state = await runRange({
      plan,
      range: row.range,
      source: firestore.source,
      store,
      dataKey,
      codec: context.engine.codec,
      buffers: context.engine.buffers,
      signal: AbortSignal.any([job.signal, stop.signal]),
      onRead: (documents, bytes) => meter.add(documents, bytes),
      onCheckpoint: (checkpoint) => save(context, meter, { state: checkpoint }),
      ...(row.state ? { resumeFrom: row.state } : {}),
      ...(parentView ? { parentView } : {}),
    });
    await save(context, meter, { state: state as RangeState, isComplete: true, updatedAt: clock.now() });
  } finally {
    clearInterval(ticking);
    await Promise.allSettled([store.close(), firestore.close()]);
  }
  await reportProgress(context, row.organizationId, row.backupId);
  await enqueueFinishIfDone(context, row.organizationId, row.backupId);
}

async function openParentView(
  context: BackupsContext,
  store: CopiesStore,
  parentId: string,
  keys: KeyRing,
  signal: AbortSignal,
): Promise<View> {
  return openView({ store, backupId: parentId, keys, codec: context.engine.codec, signal });
}

/** What this claim has read, on top of what earlier claims of the range were credited with. */
class RangeMeter {
  readonly row: RangeRow;
  readonly #reads: () => number;
  #documents = 0;
  #bytes = 0;

  constructor(row: RangeRow, reads: () => number) {
    this.row = row;
    this.#reads = reads;
    const kept = row.state?.segments ?? [];
    this.#documents = kept.reduce((sum, segment) => sum + segment.records, 0);
    this.#bytes = kept.reduce((sum, segment) => sum + segment.plainBytes, 0);
  }

  add(documents: number, bytes: number): void {
    this.#documents += documents;
    this.#bytes += bytes;
  }

  get figures() {
    return { documents: this.#documents, bytes: this.#bytes, reads: this.row.reads + this.#reads() };
  }
}

async function save(context: BackupsContext, meter: RangeMeter, change: Partial<RangeRow>): Promise<void> {
  const { database, clock } = context.platform;
  const saved = await database.tenant(meter.row.organizationId, (transaction) =>
    rangeStore.save(transaction, meter.row, { ...meter.figures, ...change, updatedAt: clock.now() }),
  );
  if (!saved) throw new Superseded('another worker has taken the range over');
}

/** Every second: shows how far it is, and looks whether the backup is still wanted. */
function tick(context: BackupsContext, meter: RangeMeter, stop: AbortController): NodeJS.Timeout {
  const { organizationId, backupId } = meter.row;
  let busy = false;
  return setInterval(() => {
    if (busy || stop.signal.aborted) return;
    busy = true;
    lookAround(context, meter)
      .then((reason) => reason && stop.abort(reason))
      .catch((error: unknown) =>
        context.platform.log.debug({ err: error, organizationId, backupId }, 'progress could not be shown'),
      )
      .finally(() => {
        busy = false;
      });
  }, tickMs);
}

async function lookAround(context: BackupsContext, meter: RangeMeter): Promise<Error | undefined> {
  const { database, clock } = context.platform;
  const { organizationId, backupId } = meter.row;
  const saved = await database.tenant(organizationId, (transaction) =>
    rangeStore.save(transaction, meter.row, { ...meter.figures, updatedAt: clock.now() }),
  );
  if (!saved) return new Superseded('another worker has taken the range over');
  const standing = await reportProgress(context, organizationId, backupId);
  if (standing === 'ended') return new Superseded('the backup has ended');
  if (standing === 'late') return tooLate();
  return standing === 'over-budget'
    ? new Problem('READ_BUDGET_EXCEEDED', 'The backup has spent the reads the project allows.')
    : undefined;
}

async function handleFailure(context: BackupsContext, row: RangeRow, job: Job, error: unknown): Promise<void> {
  const { organizationId, backupId, range } = job.data;
  const reason = reasonOf(error);
  if (reason instanceof Superseded) return;
  if (job.signal.aborted) throw error;
  const failures = row.failures + 1;
  context.platform.log.warn({ err: reason, backupId, range, failures }, 'a range of a backup failed');
  if (mayPass(reason) && failures < context.platform.config.JOB_ATTEMPTS) {
    await context.platform.database.tenant(organizationId, (transaction) =>
      rangeStore.save(transaction, row, { failures }),
    );
    throw reason;
  }
  await failBackup(context, organizationId, backupId, reason);
}

/** The last range to be complete calls the finish; asked once too often it does no harm. */
export async function enqueueFinishIfDone(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
): Promise<void> {
  const { database, queue } = context.platform;
  await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.find(transaction, organizationId, backupId);
    if (row?.status !== 'running' || row.plan === null) return;
    const { open } = await rangeStore.totals(transaction, organizationId, backupId);
    if (open === 0)
      await queue.enqueue(transaction, finishBackupJob, { organizationId, backupId }, { key: backupId, priority: 1 });
  });
}
