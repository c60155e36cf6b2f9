import {
  type BackupReader,
  EngineError,
  isEngineError,
  openScratch,
  parseInstant,
  type View,
  viewAt,
} from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { type DiffPosition, type OtherSide, openBackup, openLive } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { type Base, baseFor, coverageOfLog, findBase, notEnabled } from '../coverage.ts';
import { openLogToRead } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { minutesAround, openMinute } from './source-minutes.ts';

export interface OpenedPast {
  readonly view: View;
  /** The chain below the log, oldest first. */
  readonly readers: BackupReader[];
  readonly instant: string;
  close(): Promise<void>;
}

export interface PastRequest {
  readonly organizationId: string;
  readonly projectId: string;
  readonly at: string;
  readonly signal: AbortSignal;
  readonly attemptsMax?: number;
  /** The caller does the proof itself. */
  readonly isProof?: boolean;
  /** Throws when the instant cannot be proved, also because the source does not answer. */
  readonly isStrict?: boolean;
  /** The chain to begin with, which stays open; absent: the newest base that reaches the instant. */
  readonly chain?: readonly BackupReader[];
}

interface FoundPast {
  readonly row: LogRow;
  /** Null when the caller passes its own chain. */
  readonly base: Base | null;
  readonly from: string;
  readonly instant: string;
  readonly keys: readonly string[];
  /** Not reachable from our log, but the source itself keeps this minute. */
  readonly isMinute?: boolean;
}

/** Finds what is needed to read an instant; throws an error of the API when it cannot be reached. */
async function findPast(
  context: PitrContext,
  { organizationId, projectId, at, chain, isProof = false, isStrict = false }: PastRequest,
): Promise<FoundPast> {
  const instant = parseInstant(at);
  if (instant === undefined) throw new Problem('VALIDATION_ERROR', `${at} is no moment.`, { details: { field: 'at' } });
  return context.backups.platform.database.tenant(organizationId, async (transaction) => {
    await projectStore.findKept(transaction, organizationId, projectId).then(required);
    const row = await pitrStore.find(transaction, organizationId, projectId);
    if (!row) throw notEnabled();
    const now = context.backups.platform.clock.now();
    const coverage = await coverageOfLog(transaction, row);
    const minutes = minutesAround(instant, row, now);
    const isMinute = !chain && !isProof && !isStrict && minutes.before === instant && !findBase(instant, coverage);
    if (isMinute) return { row, base: null, from: instant, instant, keys: [], isMinute };
    const base = chain ? null : baseFor(instant, coverage, now, minutes);
    const from = base?.snapshotTime ?? chain!.at(-1)!.body.snapshotTime;
    const keys = await segmentStore.keysBetween(transaction, row.logId, from, instant);
    return { row, base, from, instant, keys };
  });
}

/** The same, and proves that the log knows every collection of that instant. */
export async function requirePast(context: PitrContext, request: PastRequest): Promise<FoundPast> {
  const found = await findPast(context, request);
  if (request.isProof !== true && !found.isMinute) await requireProof(context, found.row, found.instant, request);
  return found;
}

/** A project's database as it was at an instant: a view like that of a backup. */
export async function openPast(context: PitrContext, request: PastRequest): Promise<OpenedPast> {
  const { organizationId, signal, attemptsMax } = request;
  const { row, base, from, instant, keys, isMinute } = await requirePast(context, request);
  if (isMinute) return { ...(await openMinute(context, row, instant, signal)), readers: [], instant };
  const toClose: (() => Promise<void>)[] = [];
  const close = async () => {
    await Promise.allSettled(toClose.splice(0).map((end) => end()));
  };
  try {
    const log = await openLogToRead(context, row, attemptsMax === undefined ? {} : { attemptsMax });
    toClose.push(log.close);
    const readers = base ? await openBase(context, organizationId, base, signal, toClose) : [...(request.chain ?? [])];
    const scratch = await openScratch();
    toClose.push(scratch.remove);
    const stretch = { coveredFrom: from, coveredThrough: instant, marks: [], gap: null };
    const view = await viewAt({
      chain: readers,
      log: log.reader,
      instant,
      scratch: scratch.store,
      codec: context.backups.engine.codec,
      // The catalogue, which knows every gap, has already shown that it can be reached.
      coverage: { stretches: [stretch], gaps: [] },
      segmentKeys: keys,
      signal,
    });
    return { view, readers, instant, close };
  } catch (error) {
    await close();
    throw asLost(error);
  }
}

/** What is missing in storage will not come back by trying again. */
function asLost(error: unknown): unknown {
  if (!isEngineError(error, 'STORAGE_NOT_FOUND')) return error;
  return new EngineError(
    'INTEGRITY_ERROR',
    'A part of what was captured is gone from its storage. A rescan of the storage tells which time is lost.',
    { cause: error },
  );
}

async function openBase(
  context: PitrContext,
  organizationId: string,
  { id }: Base,
  signal: AbortSignal,
  toClose: (() => Promise<void>)[],
): Promise<BackupReader[]> {
  const chain = await context.chains.openChainOf(organizationId, id, signal);
  toClose.push(chain.close);
  return chain.readers;
}

/**
 * Proves that the log knows all collections. A new collection below an unchanged document is found only by the next
 * regular proof. So an instant after the last proof is proved here, by counts. When the source does not answer, the log
 * has to be trusted.
 */
async function requireProof(
  context: PitrContext,
  row: LogRow,
  instant: string,
  { signal, isStrict = false }: Pick<PastRequest, 'signal' | 'isStrict'>,
): Promise<void> {
  const { position, organizationId, projectId } = row;
  if (position === null || instant <= position.provedThrough || !row.enabled) return;
  const { database, log } = context.backups.platform;
  const project = await database.tenant(organizationId, (transaction) =>
    projectStore.findKept(transaction, organizationId, projectId),
  );
  if (!project) return;
  let isProved = true;
  try {
    const { source, close } = await context.backups.sources.open(project);
    try {
      isProved = await source.holdsOnly(position.collectionIds, { readTime: instant, signal });
    } finally {
      await close();
    }
  } catch (error) {
    log.warn({ err: error, projectId }, 'the source could not be asked whether the log knows all its collections');
    isProved = !isStrict;
  }
  if (isProved) return;
  throw new Problem(
    'POINT_IN_TIME_UNAVAILABLE',
    `${instant} is not captured yet: a collection has appeared that capture is about to follow. Try again in a minute.`,
    { details: { before: position.provedThrough, after: null } },
  );
}

function required<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Problem('PROJECT_NOT_FOUND', 'There is no such project in this organization.');
  return row;
}

/** What a moment is compared with: the live database, another moment, or a backup. */
export async function otherSide(
  context: PitrContext,
  request: PastRequest,
  position: DiffPosition | undefined,
): Promise<OtherSide> {
  const { organizationId, projectId, at, signal } = request;
  if (at === 'live') return liveSide(context, request, position);
  if (parseInstant(at) === undefined) return openBackup(context.backups, organizationId, at, signal);
  const past = await openPast(context, { organizationId, projectId, at, signal });
  return {
    database: past.view.database,
    readTime: null,
    scope: undefined,
    records: (scope, after) => past.view.records({ scope, ...(after === undefined ? {} : { after }) }, { signal }),
    close: past.close,
  };
}

async function liveSide(
  { backups }: PitrContext,
  { organizationId, projectId, signal }: PastRequest,
  position: DiffPosition | undefined,
): Promise<OtherSide> {
  const project = await backups.platform.database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, projectId),
  );
  return openLive(backups, project, position?.readTime ?? null, signal);
}
