import { everything, newDataKey, planBackup } from '@holdfast/engine';
import { later } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import type { BackupJobData } from '../jobs.ts';
import { isUnderKeyInUse } from '../keys/key-in-use.ts';
import type { LoadedBackup } from '../load-backup.ts';
import { scopeOf } from '../scope.ts';
import { enqueueRanges, rangePriority } from './admission.ts';
import { backupTimeoutMs } from './backup-timeout.ts';
import { beginBackup } from './begin-backup.ts';
import { emptyCollections } from './empty-collections.ts';
import { findParent } from './find-parent.ts';
import { fullFromLog } from './full-from-log.ts';
import { incrementFromLog } from './increment-from-log.ts';
import { rangeStore } from './range-store.ts';
import { runBackupJob } from './run-backup-job.ts';

/** Enough for many workers to share, few enough that each range is worth a job. */
const rangesMax = 16;
/** Far fewer than a worker can read in an hour. */
const documentsAnHour = 5_000_000;
const documentsPerRange = 10_000;
/**
 * Firestore's read times have microseconds. Documents written by other tools may have finer times, at which nothing can
 * be read.
 */
const wholeMicroseconds = '000Z';
const noMark = { at: undefined, logId: null };
const nothingYet = { documents: 0, bytes: 0, reads: 0 };

/** Starts the backup: fixes the snapshot time, the ranges and the key, and hands the ranges to the workers. */
export async function runPlan(context: BackupsContext, job: RunningJob<BackupJobData>): Promise<void> {
  const loaded = await beginBackup(context, job);
  if (!loaded) return;
  const figures = { ...nothingYet };
  const show = (documents: number) => {
    figures.documents = documents;
  };
  const work = async (signal: AbortSignal) => {
    const step = { loaded, signal, show, isRepeated: job.attempt > 1 };
    const isMade = (await incrementFromLog(context, step)) || (await fullFromLog(context, step));
    if (isMade) return;
    // When a customer's key changes meanwhile, the next plan knows it.
    while (!(await plan(context, loaded, signal))) signal.throwIfAborted();
  };
  await runBackupJob(context, job, loaded.row, work, figures);
}

/** False when the chosen parent can no longer be followed. */
async function plan(context: BackupsContext, loaded: LoadedBackup, signal: AbortSignal): Promise<boolean> {
  const { row, project } = loaded;
  const firestore = await context.sources.open(project);
  try {
    const { source } = firestore;
    const scope = scopeOf(row);
    // A safety backup must hold the newest edits. Other backups prefer an instant that stays readable for long.
    const isSafety = row.trigger === 'pre_restore';
    const now = await source.snapshotTime({ signal, isLasting: !isSafety });
    const expected = row.documentPaths
      ? row.documentPaths.length
      : await source.count(everything, { scope, readTime: now, signal });
    requireBudget(project.maxReadsPerBackup, expected);
    const { at: mark, logId } = isSafety ? noMark : await context.capturedMark(row, signal);
    // Every instant stays readable for an hour. A backup that can be read in that time is read at a mark of the log, so
    // that captured changes continue from it. Otherwise it is read after the mark.
    const isExact = mark?.endsWith(wholeMicroseconds) && expected <= documentsAnHour;
    const behindMark = () => source.snapshotTime({ signal, isLasting: true });
    const readTime = mark === undefined ? now : isExact ? mark : await behindMark();
    // A safety backup may well be empty.
    const empty = isSafety ? [] : await emptyCollections(source, { scope, readTime, signal });
    const { chain, warning } =
      row.type === 'incremental'
        ? await findParent(context, loaded, source, scope, signal)
        : { chain: undefined, warning: undefined };
    const newest = chain?.at(-1);
    const planned = await planBackup({
      source,
      backupId: row.id,
      scope,
      snapshotTime: readTime,
      targetRanges: Math.min(rangesMax, Math.max(1, Math.ceil(expected / documentsPerRange))),
      signal,
      createdAt: `${row.createdAt.toISOString().slice(0, -1)}000000Z`,
      ...(newest && chain
        ? { parent: { body: newest.body, manifestSha256: newest.manifestSha256, chainLength: chain.length } }
        : {}),
    });
    await chain?.[0]?.store.close();
    const warnings = [...empty, ...(warning ? [warning] : [])];
    const chainIds = chain?.map(({ backupId }) => backupId) ?? [];
    const reads = source.usage.documentsRead;
    return await startRanges(context, loaded, {
      planned,
      logId,
      chainIds,
      expected,
      warnings,
      reads,
    });
  } finally {
    await firestore.close();
  }
}

function requireBudget(budget: number | null, expected: number): void {
  if (budget === null || expected <= budget) return;
  throw new Problem(
    'READ_BUDGET_EXCEEDED',
    `The backup would read ${expected} documents; the project allows ${budget}.`,
    { details: { reads: expected, budget } },
  );
}

interface Planned {
  planned: Awaited<ReturnType<typeof planBackup>>;
  logId: string | null;
  chainIds: readonly string[];
  expected: number;
  warnings: readonly string[];
  reads: number;
}

/**
 * The transaction that fixes the plan and enqueues its ranges. Does nothing when the backup has ended or is already
 * planned. False, with nothing done, when the key of the new backup would not open the chain.
 */
async function startRanges(
  context: BackupsContext,
  { row, copies, project }: LoadedBackup,
  { planned, logId, chainIds, expected, warnings, reads }: Planned,
): Promise<boolean> {
  const { database, queue, clock } = context.platform;
  const { organizationId, id: backupId } = row;
  return database.tenant(organizationId, async (transaction) => {
    await context.organizations.hold(transaction, organizationId);
    const locked = await backupStore.findLocked(transaction, organizationId, backupId);
    if (locked?.status !== 'running' || locked.plan !== null) return true;
    if (!(await isUnderKeyInUse(context, transaction, organizationId, chainIds))) return false;
    if (planned.parent) await backupStore.holdParent(transaction, locked, planned.parent.backupId);
    const { ring, currentKeyId } = await context.keys.ring(transaction, organizationId);
    const now = clock.now();
    await backupStore.update(transaction, organizationId, backupId, {
      plan: planned,
      envelope: await ring.wrap(backupId, newDataKey()),
      keyId: currentKeyId,
      type: planned.type,
      parentId: planned.parent?.backupId ?? null,
      snapshotTime: planned.snapshotTime,
      logId,
      documentsExpected: expected,
      deadlineAt: later(locked.startedAt ?? now, backupTimeoutMs(project.backupTimeoutMinutes, expected)),
      readsUsed: reads,
      failures: 0,
      warnings: [...locked.warnings, ...warnings],
      phase: 'Reading',
      updatedAt: now,
    });
    await rangeStore.insertAll(transaction, organizationId, backupId, planned.ranges.length, now);
    for (const { status, storageDestinationId } of copies)
      if (status === 'pending')
        await backupStore.updateCopy(transaction, organizationId, backupId, storageDestinationId, {
          status: 'writing',
        });
    // Its own ranges are not held against it.
    const priority = Math.min(0, (await rangePriority(transaction, organizationId)) + planned.ranges.length);
    await enqueueRanges(queue, transaction, row, planned.ranges.keys(), priority);
    return true;
  });
}
