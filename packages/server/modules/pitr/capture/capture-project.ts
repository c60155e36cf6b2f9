import {
  type ChangeBatch,
  type ConnectedFirestore,
  encodeDocument,
  everything,
  LogWriter,
  type RecordBatch,
  RecordBatchBuilder,
  recordKind,
  type View,
  wholeDatabase,
  writeLogManifest,
} from '@holdfast/engine';
import { dayMs } from '../../../platform/durations.ts';
import { Superseded } from '../../jobs/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { type OpenedLog, openLog } from '../log-access.ts';
import { openPast } from '../past/open-past.ts';
import { type Lease, type LogRow, pitrStore } from '../pitr-store.ts';
import { appendBatch } from './append-batch.ts';
import { NothingToCapture } from './nothing-to-capture.ts';

const namesPerBatch = 2_000;

/** Follows one project under one lease until it is told to stop or cannot go on; every batch is durable before the next. */
export async function captureProject(
  context: PitrContext,
  organizationId: string,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { platform, sources } = context.backups;
  const found = await platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.lockLease(transaction, organizationId, lease);
    const organization = await context.backups.organizations.active(transaction, organizationId);
    const project = row && (await projectStore.findKept(transaction, organizationId, row.projectId));
    const last = row && (await pitrStore.lastSegment(transaction, row.logId));
    if (row && (!organization || !project)) throw new NothingToCapture('the organization or the project is deleted');
    return row && project ? { row, project, last } : undefined;
  });
  if (!found) throw new Superseded('the lease is gone');
  const { row, project, last } = found;
  const log = await openLog(context, row);
  const firestore = await sources.open(project);
  try {
    await writeManifestOnce(context, row, log);
    const quietFrom = last?.coveredThrough ?? row.startedFrom;
    const writer = new LogWriter({
      store: log.store,
      codec: context.backups.engine.codec,
      context: log.seal,
      nextSequence: row.nextSequence,
      signal,
      ...(quietFrom < row.coveredThrough ? { quiet: { from: quietFrom, through: row.coveredThrough } } : {}),
      ...(log.lock ? { lock: lockOf(context, log.lock) } : {}),
    });
    let readsBefore = 0;
    for await (const batch of batchesOf(context, { row, project, firestore, lease, signal })) {
      const segment = await writer.append(batch);
      const reads = firestore.source.usage.documentsRead;
      await appendBatch(context, { organizationId, lease, project }, batch, segment, reads - readsBefore);
      readsBefore = reads;
    }
  } finally {
    await Promise.allSettled([firestore.close(), log.close()]);
  }
}

interface Followed {
  readonly row: LogRow;
  readonly project: ProjectRow;
  readonly firestore: ConnectedFirestore;
  readonly lease: Lease;
  readonly signal: AbortSignal;
}

function batchesOf(context: PitrContext, { row, firestore, signal }: Followed): AsyncIterable<ChangeBatch> {
  const { config } = context.backups.platform;
  return firestore.capture.capture({
    from: row.coveredThrough,
    scope: wholeDatabase,
    signal,
    batchIntervalMs: config.PITR_SEGMENT_SECONDS * 1000,
    exactWithinMs: Math.max(10_000, config.PITR_SEGMENT_SECONDS * 1000),
    readsPerHourMax: config.PITR_READS_PER_HOUR,
    knownNames: (at) => knownNames(context, row, firestore, at, signal),
    ...(row.position === null ? {} : { position: row.position }),
  });
}

/** From base and log, which costs the source nothing; while there is no base yet, from the source itself. */
async function* knownNames(
  context: PitrContext,
  row: LogRow,
  firestore: ConnectedFirestore,
  at: string,
  signal: AbortSignal,
): AsyncGenerator<RecordBatch> {
  const { organizationId, projectId } = row;
  const past = await openPast(context, { organizationId, projectId, at, signal, isProof: true }).catch(
    (error: unknown) => {
      if ((error as { code?: string }).code === 'POINT_IN_TIME_UNAVAILABLE') return undefined;
      throw error;
    },
  );
  if (past === undefined) {
    yield* firestore.source.scan(everything, { scope: wholeDatabase, readTime: at, namesOnly: true, signal });
    return;
  }
  try {
    yield* namesOf(past.view, signal);
  } finally {
    await past.close();
  }
}

async function* namesOf(view: View, signal: AbortSignal): AsyncGenerator<RecordBatch> {
  let builder = new RecordBatchBuilder();
  let count = 0;
  for await (const page of view.entries({}, { signal })) {
    for (const { path } of page) {
      builder.add(recordKind.put, path, encodeDocument({ name: `${view.database}/documents/${path}`, fields: {} }));
      count += 1;
      if (count % namesPerBatch !== 0) continue;
      yield builder.take();
      builder = new RecordBatchBuilder();
    }
  }
  if (!builder.isEmpty) yield builder.take();
}

/** The bucket alone must be enough to open the log: its manifest carries the key as it is wrapped now. */
async function writeManifestOnce(context: PitrContext, row: LogRow, log: OpenedLog): Promise<void> {
  if (row.manifestWritten) return;
  await writeLogManifest({
    store: log.store,
    logId: row.logId,
    database: row.database,
    scope: wholeDatabase,
    createdAt: row.startedFrom,
    from: row.startedFrom,
    dataKey: log.seal.dataKey,
    envelope: row.envelope,
  });
  await context.backups.platform.database.tenant(row.organizationId, (transaction) =>
    pitrStore.update(transaction, row.organizationId, row.projectId, { manifestWritten: true }),
  );
}

function lockOf(context: PitrContext, lock: NonNullable<OpenedLog['lock']>) {
  const retainUntil = new Date(context.backups.platform.clock.now().getTime() + lock.days * dayMs);
  return { mode: lock.mode, retainUntil };
}
