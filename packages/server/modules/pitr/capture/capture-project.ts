import {
  type ChangeBatch,
  type ConnectedFirestore,
  encodeDocument,
  everything,
  isEngineError,
  LogReader,
  LogWriter,
  type RecordBatch,
  RecordBatchBuilder,
  recordKind,
  type SpentReads,
  updateTimeOf,
  type View,
  wholeDatabase,
} from '@holdfast/engine';
import { hourMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { admitBackups } from '../../backups/index.ts';
import { Superseded } from '../../jobs/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { type OpenedLog, openLog } from '../log-access.ts';
import { keepManifestLocked, writeManifestIfFree } from '../log-manifest.ts';
import { openPast } from '../past/open-past.ts';
import { type Lease, type LogRow, pitrStore } from '../pitr-store.ts';
import { type SegmentRow, segmentStore } from '../segment-store.ts';
import { ensureBaseOf } from '../upkeep/ensure-bases.ts';
import { type Appender, appendBatch } from './append-batch.ts';
import { NothingToCapture } from './nothing-to-capture.ts';
import { proveEnd } from './prove-end.ts';
import { rescanIfElsewhere } from './rescan-if-elsewhere.ts';

const namesPerBatch = 2_000;

export interface CaptureSignals {
  /** Asks for the end, once everything that was heard is written. */
  readonly ending: AbortSignal;
  readonly signal: AbortSignal;
}

/**
 * Captures the changes of one project under one lease, until it is told to end or cannot continue. Every batch is
 * durable before the next one.
 */
export async function captureProject(
  context: PitrContext,
  organizationId: string,
  lease: Lease,
  { ending, signal }: CaptureSignals,
): Promise<void> {
  const { platform } = context.backups;
  const found = await platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.lockLease(transaction, organizationId, lease);
    const organization = await context.backups.organizations.active(transaction, organizationId);
    const project = row && (await projectStore.findKept(transaction, organizationId, row.projectId));
    const last = row && (await segmentStore.last(transaction, row.logId));
    if (row && (!organization || !project)) throw new NothingToCapture('the organization or the project is deleted');
    return row && project ? { row, project, last } : undefined;
  });
  if (!found?.row.enabled) throw new Superseded('the lease is gone');
  const log = await openLog(context, found.row);
  try {
    // Before the source is asked: even if the source is gone for good, a new key must still open what was captured.
    await writeManifestIfFree(context, found.row, log, signal);
    await keepManifestLocked(context, found.row, log, signal);
    await rescanIfElsewhere(context, found.last, log, signal);
    const { destination } = log;
    await follow(context, { ...found, organizationId, lease, destination }, log, { ending, signal });
  } finally {
    await log.close();
  }
}

interface Captured extends Appender {
  readonly row: LogRow;
  readonly last: SegmentRow | undefined;
}

async function follow(
  context: PitrContext,
  { row, last, ...appender }: Captured,
  log: OpenedLog,
  { ending, signal }: CaptureSignals,
): Promise<void> {
  const { platform, sources } = context.backups;
  const { organizationId, project } = appender;
  const firestore = await sources.open(project);
  let readsBefore = 0;
  try {
    requireSameDatabase(firestore, row);
    await noteSourceKeeps(context, row, firestore, signal);
    const quietFrom = last?.coveredThrough ?? row.startedFrom;
    const writer = new LogWriter({
      store: log.store,
      codec: context.backups.engine.codec,
      context: log.seal,
      nextSequence: row.nextSequence,
      signal,
      ...(quietFrom < row.coveredThrough ? { quiet: { from: quietFrom, through: row.coveredThrough } } : {}),
      put: log.put,
    });
    const isBetweenMarks = await endsBetweenMarks(row, last, log, signal);
    for await (const batch of batchesOf(context, { row, isBetweenMarks, firestore, ending, signal })) {
      const segment = await writer.append(batch);
      const reads = firestore.source.usage.documentsRead;
      await appendBatch(context, appender, batch, segment, reads - readsBefore);
      // When no base covers the time after the gap, a new one is requested at once.
      if (batch.gap && (await ensureBaseOf(context, { organizationId, projectId: project.id })))
        await admitBackups(platform);
      readsBefore = reads;
    }
    await proveEnd(context, appender, firestore, writer, signal);
  } finally {
    const reads = firestore.source.usage.documentsRead - readsBefore;
    const note = platform.database.tenant(organizationId, (transaction) => pitrStore.addReads(transaction, row, reads));
    await Promise.allSettled([note, firestore.close()]);
  }
}

/**
 * A log belongs to one database. When a project is connected to another one, it must be switched off and on again to
 * start a new log.
 */
function requireSameDatabase({ source }: ConnectedFirestore, { database }: LogRow): void {
  if (source.database === database) return;
  throw new Problem(
    'INVALID_STATE',
    `The log is of ${database}, and the project is connected to ${source.database} now. Switch point-in-time recovery off and on again.`,
  );
}

/** When the source has point-in-time recovery of its own, whole minutes in our gaps can be read from it. */
async function noteSourceKeeps(
  context: PitrContext,
  { organizationId, projectId, sourceKeepsFrom: known }: LogRow,
  { source }: ConnectedFirestore,
  signal: AbortSignal,
): Promise<void> {
  const { pointInTimeRecovery, earliestReadTime } = await source.info({ signal });
  const sourceKeepsFrom = pointInTimeRecovery ? earliestReadTime : null;
  if (sourceKeepsFrom === known) return;
  await context.backups.platform.database.tenant(organizationId, (transaction) =>
    pitrStore.update(transaction, organizationId, projectId, { sourceKeepsFrom }),
  );
}

/** A log that a rescan found has no position. Only its last segment tells whether it ends at a mark. */
async function endsBetweenMarks(
  { position, coveredThrough }: LogRow,
  last: SegmentRow | undefined,
  { store, seal }: OpenedLog,
  signal: AbortSignal,
): Promise<boolean> {
  if (position !== null || last?.coveredThrough !== coveredThrough) return false;
  try {
    for await (const { marks } of new LogReader(store, seal).describe({ keys: [last.key], signal }))
      return !marks.includes(coveredThrough);
  } catch (error) {
    if (!isEngineError(error, 'STORAGE_NOT_FOUND')) throw error;
  }
  return true;
}

interface Followed {
  readonly row: LogRow;
  readonly isBetweenMarks: boolean;
  readonly firestore: ConnectedFirestore;
  readonly ending: AbortSignal;
  readonly signal: AbortSignal;
}

function batchesOf(
  context: PitrContext,
  { row, isBetweenMarks, firestore, ending, signal }: Followed,
): AsyncIterable<ChangeBatch> {
  const { config } = context.backups.platform;
  return firestore.capture.capture({
    from: row.coveredThrough,
    scope: wholeDatabase,
    ending,
    signal,
    batchIntervalMs: config.PITR_SEGMENT_SECONDS * 1000,
    exactWithinMs: Math.max(10_000, config.PITR_SEGMENT_SECONDS * 1000),
    readsPerHourMax: config.PITR_READS_PER_HOUR,
    spentReads: row.spentReads,
    onSpent: (spent) => noteSpent(context, row, spent),
    knownNames: (at) => knownNames(context, row, firestore, at, signal),
    ...(row.position === null ? { isBetweenMarks } : { position: row.position }),
  });
}

/** Saved at once, beside the capture: reads count for the next worker too. */
function noteSpent(context: PitrContext, row: LogRow, spent: SpentReads): void {
  const { database, clock, log } = context.backups.platform;
  const since = new Date(clock.now().getTime() - hourMs).toISOString();
  database
    .tenant(row.organizationId, (transaction) => pitrStore.noteSpent(transaction, row, spent, since))
    .catch((error: unknown) => log.warn({ err: error, projectId: row.projectId }, 'reads could not be noted'));
}

/** From base and log, which costs no reads of the source. While there is no base yet, from the source itself. */
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
    for (const entry of page) {
      const name = `${view.database}/documents/${entry.path}`;
      builder.add(recordKind.put, entry.path, encodeDocument({ name, fields: {}, updateTime: updateTimeOf(entry) }));
      count += 1;
      if (count % namesPerBatch !== 0) continue;
      yield builder.take();
      builder = new RecordBatchBuilder();
    }
  }
  if (!builder.isEmpty) yield builder.take();
}
