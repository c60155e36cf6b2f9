import { createHash, type Hash } from 'node:crypto';
import {
  type BackupReader,
  type ConnectedFirestore,
  comparePaths,
  connectFirestore,
  documentContent,
  everything,
  type PathRange,
  type RecordBatch,
  readRecords,
  restorePuts,
  type View,
  viewOfChain,
  wholeDatabase,
} from '@holdfast/engine';
import { startFirestoreSandbox } from '@holdfast/sandbox';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { systemActor } from '../../audit/index.ts';
import { type BackupRow, backupStore, loadBackup, mayPass } from '../../backups/index.ts';
import { toJobError } from '../../job-error.ts';
import { projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { runDrillJob } from '../jobs.ts';
import { type DrillRow, drillStore } from '../restore-store.ts';
import { type Caller, note } from '../start-restore.ts';
import type { StoredDrillReport } from '../tables.ts';

/** A scratch database holds so many documents at a time; a larger backup is proved slice by slice. */
const sliceDocuments = 50_000;
const sliceBytes = 64 * 1024 * 1024;
const mismatchesMax = 100;
const attemptsMax = 5;

/** Has a completed backup restored on trial, in the transaction that wants it. */
export async function drillLater(
  context: Pick<RestoresContext, 'platform'>,
  transaction: Transaction,
  backup: Pick<BackupRow, 'id' | 'organizationId' | 'projectId'>,
  targetProjectId: string | null,
): Promise<DrillRow> {
  const { queue, clock, ids } = context.platform;
  const { organizationId } = backup;
  const row = await drillStore.insert(transaction, {
    id: ids.next('drl'),
    organizationId,
    backupId: backup.id,
    projectId: backup.projectId,
    targetProjectId,
    status: 'pending',
    createdAt: clock.now(),
  });
  await queue.enqueue(transaction, runDrillJob, { organizationId, drillId: row.id }, { key: row.id });
  return row;
}

/** Starts a trial restore into a scratch database, or into a project that is named for it. */
export async function startDrill(
  context: RestoresContext,
  caller: Caller,
  backupId: string,
  targetProjectId: string | undefined,
): Promise<DrillRow> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  return database.tenant(organizationId, async (transaction) => {
    const backup = await backupStore.get(transaction, organizationId, backupId);
    if (backup.status !== 'completed')
      throw new Problem('INVALID_STATE', `Only a completed backup can be drilled; this one is ${backup.status}.`, {
        details: { status: backup.status },
      });
    const target =
      targetProjectId === undefined ? undefined : await projectStore.get(transaction, organizationId, targetProjectId);
    if (target?.id === backup.projectId)
      throw new Problem(
        'INVALID_STATE',
        'A drill overwrites its target; name another project than the one the backup is of.',
      );
    const row = await drillLater(context, transaction, backup, target?.id ?? null);
    await note(context, transaction, caller, 'drill.started', row.id, {
      backupId,
      targetProjectId: target?.id ?? null,
    });
    return row;
  });
}

export async function runDrill(
  context: RestoresContext,
  job: RunningJob<{ organizationId: string; drillId: string }>,
): Promise<void> {
  const { database, clock, log } = context.platform;
  const { organizationId, drillId } = job.data;
  const row = await database.tenant(organizationId, (transaction) =>
    drillStore.find(transaction, organizationId, drillId),
  );
  if (!row || (row.status !== 'pending' && row.status !== 'running')) return;
  const save = (change: Parameters<typeof drillStore.update>[3]) =>
    database.tenant(organizationId, (transaction) => drillStore.update(transaction, organizationId, drillId, change));
  await save({ status: 'running' });
  try {
    const report = await prove(context, row, job.signal, (percent, documents, bytes) =>
      save({ percent, documentsDone: documents, bytesDone: bytes }),
    );
    const completedAt = clock.now();
    const signedReport = await context.sign({
      drillId,
      backupId: row.backupId,
      organizationId,
      completedAt: completedAt.toISOString(),
      ...report,
    });
    await database.tenant(organizationId, async (transaction) => {
      await drillStore.update(transaction, organizationId, drillId, {
        status: 'completed',
        percent: 100,
        report,
        signedReport,
        completedAt,
      });
      if (!isProven(report)) await tellUnproven(context, transaction, row);
      await context.audit.write(transaction, {
        organizationId,
        action: 'drill.completed',
        actor: systemActor,
        resource: { type: 'drill', id: drillId },
        origin: null,
        details: { backupId: row.backupId, matched: report.documentsMatched, expected: report.documentsExpected },
      });
    });
  } catch (error) {
    if (job.signal.aborted || (mayPass(error) && job.attempt < attemptsMax)) throw error;
    log.warn({ err: error, drillId }, 'a drill failed');
    await database.tenant(organizationId, async (transaction) => {
      const change = { status: 'failed' as const, error: toJobError(error), completedAt: clock.now() };
      await drillStore.update(transaction, organizationId, drillId, change);
      await tellUnproven(context, transaction, row);
    });
  }
}

function isProven(report: StoredDrillReport): boolean {
  return report.documentsMatched === report.documentsExpected && report.sha256Expected === report.sha256Restored;
}

async function tellUnproven(context: RestoresContext, transaction: Transaction, row: DrillRow): Promise<void> {
  const loaded = await loadBackup(context, transaction, row.organizationId, row.backupId);
  if (loaded && !loaded.row.deletedAt) await context.onUnproven(transaction, loaded, 'drill_failed');
}

type Show = (percent: number, documents: number, bytes: number) => Promise<void>;

async function prove(
  context: RestoresContext,
  row: DrillRow,
  signal: AbortSignal,
  show: Show,
): Promise<StoredDrillReport> {
  const chain = await context.backups.openChainOf(row.organizationId, row.backupId, signal);
  try {
    const view = viewOfChain(chain.readers);
    const expected = (chain.readers.at(-1) as BackupReader).body.counts.documents;
    const scratch =
      row.targetProjectId === null ? await openScratch(view) : await openNamed(context, row, row.targetProjectId);
    try {
      return await compareInSlices(view, expected, scratch, signal, show);
    } finally {
      await scratch.close();
    }
  } finally {
    await chain.close();
  }
}

interface Scratch {
  firestore: ConnectedFirestore;
  /** Empties it between slices; absent for a database that is not ours to empty. */
  clear?: () => void;
  close(): Promise<void>;
}

/** A Firestore that exists for this drill alone. */
async function openScratch(view: View): Promise<Scratch> {
  const [, project = 'drill', , database = '(default)'] = view.database.split('/');
  const sandbox = await startFirestoreSandbox();
  const firestore = connectFirestore({
    projectId: project,
    databaseId: database,
    connection: { type: 'emulator', host: sandbox.address },
  });
  return {
    firestore,
    clear: () => sandbox.control.clear({ project, database }),
    close: async () => {
      await firestore.close();
      await sandbox.stop();
    },
  };
}

async function openNamed(context: RestoresContext, row: DrillRow, targetProjectId: string): Promise<Scratch> {
  const target = await context.platform.database.tenant(row.organizationId, (transaction) =>
    projectStore.get(transaction, row.organizationId, targetProjectId),
  );
  const firestore = await context.sources.open(target);
  return { firestore, close: () => firestore.close() };
}

/** Restores and reads back one slice after the other; every document is compared, and all of them are hashed in order. */
async function compareInSlices(
  view: View,
  expected: number,
  scratch: Scratch,
  signal: AbortSignal,
  show: Show,
): Promise<StoredDrillReport> {
  const tally = { restored: 0, matched: 0, bytes: 0, restoreMs: 0, mismatches: [] as string[] };
  const hashes: [Hash, Hash] = [createHash('sha256'), createHash('sha256')];
  for await (const slice of slicesOf(view, signal)) {
    scratch.clear?.();
    const startedMs = performance.now();
    const applied = await restorePuts({
      view: slice.view,
      target: scratch.firestore.target,
      mode: 'overwrite',
      rampUp: false,
      rewriteReferences: false,
      signal,
    });
    tally.restoreMs += performance.now() - startedMs;
    tally.restored += applied.written;
    await compareSlice(slice, view.database, scratch, hashes, tally, signal);
    await show(Math.min(99, Math.floor((100 * tally.restored) / Math.max(1, expected))), tally.restored, tally.bytes);
  }
  return {
    documentsExpected: expected,
    documentsRestored: tally.restored,
    documentsMatched: tally.matched,
    mismatches: tally.mismatches,
    sha256Expected: hashes[0].digest('hex'),
    sha256Restored: hashes[1].digest('hex'),
    restoreDurationMs: Math.round(tally.restoreMs),
  };
}

interface Slice {
  batches: RecordBatch[];
  range: PathRange;
  view: View;
}

/** Consecutive batches of the view, a bounded amount at a time, each as a small view of its own. */
async function* slicesOf(view: View, signal: AbortSignal): AsyncGenerator<Slice> {
  let batches: RecordBatch[] = [];
  let [documents, bytes] = [0, 0];
  let start: string | null = null;
  const take = (end: string | null): Slice => {
    const held = batches;
    const slice = { batches: held, range: { start, end }, view: memoryView(view, held) };
    [batches, documents, bytes, start] = [[], 0, 0, end];
    return slice;
  };
  for await (const batch of view.records({}, { signal })) {
    if (batches.length > 0 && (documents + batch.count > sliceDocuments || bytes + batch.bytes.length > sliceBytes))
      yield take(batch.firstPath);
    batches.push(batch);
    documents += batch.count;
    bytes += batch.bytes.length;
  }
  yield take(null);
}

/** What restoring needs of a view, over records that are already in memory. */
function memoryView(view: View, batches: readonly RecordBatch[]): View {
  const records = async function* () {
    yield* batches;
  };
  return Object.assign(Object.create(view) as View, { records });
}

async function compareSlice(
  slice: Slice,
  database: string,
  scratch: Scratch,
  hashes: [Hash, Hash],
  tally: { matched: number; bytes: number; mismatches: string[] },
  signal: AbortSignal,
): Promise<void> {
  const { source } = scratch.firestore;
  const readTime = await source.snapshotTime({ signal });
  const restored = documentsOf(
    source.scan(scratch.clear ? everything : slice.range, { scope: wholeDatabase, readTime, signal }),
    source.database,
  );
  let next = await restored.next();
  const report = (path: string) => {
    if (tally.mismatches.length < mismatchesMax) tally.mismatches.push(path);
  };
  // A database that is not ours may hold documents of its own; ours must hold the backup's and no other.
  const extra = ({ path, content }: { path: string; content: Uint8Array }) => {
    if (!scratch.clear) return;
    hashes[1].update(path).update('\0').update(content);
    report(path);
  };
  for (const batch of slice.batches) {
    for (const { path, body } of readRecords(batch, database)) {
      const content = documentContent(body);
      tally.bytes += body.length;
      hashes[0].update(path).update('\0').update(content);
      for (; !next.done && comparePaths(next.value.path, path) < 0; next = await restored.next()) extra(next.value);
      if (next.done || next.value.path !== path) {
        report(path);
        continue;
      }
      hashes[1].update(next.value.path).update('\0').update(next.value.content);
      if (Buffer.compare(content, next.value.content) === 0) tally.matched++;
      else report(path);
      next = await restored.next();
    }
  }
  for (; !next.done; next = await restored.next()) extra(next.value);
}

async function* documentsOf(
  batches: AsyncIterable<RecordBatch>,
  database: string,
): AsyncGenerator<{ path: string; content: Uint8Array }> {
  for await (const batch of batches)
    for (const { path, body } of readRecords(batch, database)) yield { path, content: documentContent(body) };
}
