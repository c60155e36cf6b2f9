import {
  type BackupReader,
  type DocumentSource,
  documentsScope,
  everything,
  newDataKey,
  openChain,
  planBackup,
  reasonNotToFollow,
  type Scope,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { tellBackup } from '../backup-events.ts';
import { type BackupRow, backupStore, rangeStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { runRangeJob } from '../jobs.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, loadBackup, openReadable } from '../load-backup.ts';
import { warning as warningText } from '../warnings.ts';
import { priorityOf } from './admission.ts';
import { failBackup, mayPass } from './end-backup.ts';
import { keepWatch, reasonOf, Superseded } from './progress.ts';

type Job = RunningJob<{ organizationId: string; backupId: string }>;

/** Enough for many workers to share, few enough that each range is worth a job. */
const rangesMax = 16;
const documentsPerRange = 10_000;

/** Starts the backup: fixes the snapshot time, the ranges and the key, and hands the ranges to the workers. */
export async function runPlan(context: BackupsContext, job: Job): Promise<void> {
  const { organizationId, backupId } = job.data;
  const loaded = await beginBackup(context, organizationId, backupId);
  if (!loaded) return;
  const watch = keepWatch(context, loaded.row, { documents: 0, bytes: 0, reads: 0 });
  try {
    await plan(context, loaded, AbortSignal.any([job.signal, watch.signal]));
  } catch (error) {
    const reason = reasonOf(error);
    if (reason instanceof Superseded) return;
    if (job.signal.aborted) throw error;
    if (mayPass(reason) && job.attempt < context.platform.config.JOB_ATTEMPTS) throw reason;
    context.platform.log.warn({ err: reason, backupId }, 'a backup could not be planned');
    await failBackup(context, organizationId, backupId, reason);
  } finally {
    watch.end();
  }
}

/** Moves it from pending to running and tells so, once. Undefined when there is nothing left to plan. */
export async function beginBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
): Promise<LoadedBackup | undefined> {
  const { database, clock, outbox } = context.platform;
  return database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (!loaded) return undefined;
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (row.status === 'running' && row.plan === null) return { ...loaded, row };
    if (row.status !== 'pending') return undefined;
    const now = clock.now();
    const deadlineAt = new Date(now.getTime() + loaded.project.backupTimeoutMinutes * 60_000);
    const started = await backupStore.update(transaction, organizationId, backupId, {
      status: 'running',
      startedAt: now,
      deadlineAt,
      phase: 'Planning',
      updatedAt: now,
    });
    const facts = { ...loaded, row: started };
    await tellBackup(outbox, transaction, 'backup.started', facts);
    return facts;
  });
}

async function plan(context: BackupsContext, loaded: LoadedBackup, signal: AbortSignal): Promise<void> {
  const { row, project } = loaded;
  if (project.connectionStatus === 'unauthorized') await recheck(context, loaded, signal);
  const firestore = await context.sources.open(project);
  try {
    const scope = scopeOf(row);
    const readTime = await firestore.source.snapshotTime({ signal });
    const expected = row.documentPaths
      ? row.documentPaths.length
      : await firestore.source.count(everything, { scope, readTime, signal });
    requireBudget(project.maxReadsPerBackup, expected);
    const parent =
      row.type === 'incremental'
        ? await findParent(context, loaded, firestore.source, scope, signal)
        : { chain: undefined, warning: undefined };
    const newest = parent.chain?.at(-1);
    const planned = await planBackup({
      source: firestore.source,
      backupId: row.id,
      scope,
      snapshotTime: readTime,
      targetRanges: Math.min(rangesMax, Math.max(1, Math.ceil(expected / documentsPerRange))),
      signal,
      createdAt: `${row.createdAt.toISOString().slice(0, -1)}000000Z`,
      ...(newest && parent.chain
        ? { parent: { body: newest.body, manifestSha256: newest.manifestSha256, chainLength: parent.chain.length } }
        : {}),
    });
    await parent.chain?.[0]?.store.close();
    await startRanges(context, loaded, planned, expected, parent.warning, firestore.source.usage.documentsRead);
  } finally {
    await firestore.close();
  }
}

/** A connection that was found broken is tried once more, and then fails the backup at once. */
async function recheck(context: BackupsContext, loaded: LoadedBackup, signal: AbortSignal): Promise<void> {
  const firestore = await context.sources.open(loaded.project);
  try {
    await firestore.source.snapshotTime({ signal });
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

export function scopeOf(
  row: Pick<BackupRow, 'collections' | 'excludeCollections' | 'includeSubcollections'> & {
    documentPaths?: string[] | null;
  },
): Scope {
  if (row.documentPaths) return documentsScope(row.documentPaths);
  const isAll = row.collections.length === 1 && row.collections[0] === '*';
  return {
    collections: isAll ? 'all' : row.collections,
    includeSubcollections: isAll || row.includeSubcollections,
    excludeCollections: row.excludeCollections,
  };
}

interface ParentFound {
  chain: BackupReader[] | undefined;
  warning: string | undefined;
}

/** The newest completed backup of the project that lies in the same destinations and covers the same. */
async function findParent(
  context: BackupsContext,
  loaded: LoadedBackup,
  source: DocumentSource,
  scope: Scope,
  signal: AbortSignal,
): Promise<ParentFound> {
  const { database } = context.platform;
  const { row } = loaded;
  const organizationId = row.organizationId;
  const keys = await BackupKeyRing.load(context, organizationId);
  const candidates = await database.tenant(organizationId, (transaction) =>
    backupStore.newestCompleted(transaction, organizationId, row.projectId, row.id),
  );
  let reason = 'there is no completed backup to build on';
  for (const candidate of candidates) {
    if (JSON.stringify(scopeOf(candidate)) !== JSON.stringify(scope)) continue;
    const copies = await database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, candidate.id),
    );
    const liesIn = new Set(
      copies?.copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId),
    );
    // Every copy of an increment must be readable by itself, so each needs its parent beside it.
    if (!copies || !loaded.copies.every((copy) => liesIn.has(copy.storageDestinationId))) {
      reason = 'the one before lies in another destination';
      continue;
    }
    const { store } = await openReadable(context, {
      ...copies,
      copies: copies.copies.filter((copy) => copy.storageDestinationId === row.storageDestinationId),
    });
    try {
      const chain = await openChain({ store, backupId: candidate.id, keys, codec: context.engine.codec, signal });
      const obstacle = reasonNotToFollow(
        { body: chain.at(-1)!.body, chainLength: chain.length },
        source.database,
        scope,
      );
      if (obstacle === undefined) return { chain, warning: undefined };
      reason = `${candidate.id} cannot be followed: ${obstacle}`;
    } catch (error) {
      reason = `${candidate.id} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`;
    }
    await store.close();
    break;
  }
  const because = reason.replace(/\.$/, '');
  return {
    chain: undefined,
    warning: warningText('BECAME_FULL', `This backup became a full one, because ${because}.`),
  };
}

async function startRanges(
  context: BackupsContext,
  loaded: LoadedBackup,
  planned: Awaited<ReturnType<typeof planBackup>>,
  expected: number,
  warning: string | undefined,
  reads: number,
): Promise<void> {
  const { database, queue, clock } = context.platform;
  const { row } = loaded;
  const { organizationId, id: backupId } = row;
  await database.tenant(organizationId, async (transaction) => {
    const locked = await backupStore.lock(transaction, organizationId, backupId);
    if (locked.status !== 'running' || locked.plan !== null) return;
    if (planned.parent) await holdParent(transaction, locked, planned.parent.backupId);
    const { ring, currentKeyId } = await context.keys.ring(transaction, organizationId);
    const now = clock.now();
    await backupStore.update(transaction, organizationId, backupId, {
      plan: planned,
      envelope: await ring.wrap(backupId, newDataKey()),
      keyId: currentKeyId,
      type: planned.type,
      parentId: planned.parent?.backupId ?? null,
      snapshotTime: planned.snapshotTime,
      documentsExpected: expected,
      readsUsed: reads,
      warnings: warning ? [...locked.warnings, warning] : locked.warnings,
      phase: 'Reading',
      updatedAt: now,
    });
    await rangeStore.insertAll(transaction, organizationId, backupId, planned.ranges.length, now);
    for (const copy of loaded.copies)
      if (copy.status === 'pending')
        await backupStore.updateCopy(transaction, organizationId, backupId, copy.storageDestinationId, {
          status: 'writing',
        });
    const priority = (await priorityOf(transaction, organizationId)) + planned.ranges.length;
    for (const range of planned.ranges.keys()) {
      await queue.enqueue(
        transaction,
        runRangeJob,
        { organizationId, backupId, range },
        { key: `${backupId}/${range}`, priority: Math.min(0, priority) },
      );
    }
  });
}

/** From here on the parent cannot go: whoever deletes or moves it waits for this transaction and then sees the increment. */
async function holdParent(transaction: Transaction, row: BackupRow, parentId: string): Promise<void> {
  const { rowCount } = await transaction.client.query(
    `select 1 from backups b join backup_copies c on c.backup_id = b.id
      where b.id = $1 and b.organization_id = $2 and b.deleted_at is null and b.status = 'completed'
        and c.storage_destination_id = $3 and c.status = 'completed'
        for update of b, c`,
    [parentId, row.organizationId, row.storageDestinationId],
  );
  if (rowCount === 0) throw new Error('the parent was deleted or moved while the increment was planned');
}
