import { setTimeout as sleep } from 'node:timers/promises';
import { type BackupReader, EngineError, isEngineError, noteResumed, noteWaiting } from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';
import { type BackupRow, type CapturedMark, type CapturedState, logIdOf } from '../../backups/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, isBaseOf, isReachable, isUnbroken } from '../coverage.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { openPast } from './open-past.ts';

/**
 * A backup holds everything that existed when it was requested, so capture gets this long to reach that time. When
 * nothing changes, a server reports only once a minute.
 */
const waitMsMax = 90 * secondMs;
const checkEveryMs = 250;
const notThereYet = new EngineError(
  'SOURCE_UNAVAILABLE',
  'what was there when the backup was asked for is captured in a moment, a minute at most while nothing changes.',
);

/** The database whose changes are captured, for backups of everything except users, who are not captured. */
export async function capturedDatabase(context: PitrContext, row: BackupRow): Promise<string | undefined> {
  const log = await logOf(context, row);
  return log?.enabled && log.position !== null && !row.includeAuthUsers ? log.database : undefined;
}

/**
 * The state at the end of a project's log, for a full backup; undefined when nothing is captured or no base reaches it.
 */
export async function capturedState(
  context: PitrContext,
  row: BackupRow,
  signal: AbortSignal,
): Promise<CapturedState | undefined> {
  const mark = await endOfLog(context, row, signal, async (log, transaction) =>
    isReachable(log.coveredThrough, await coverageOfLog(transaction, log)),
  );
  return mark && open(context, row, mark, { signal });
}

/**
 * An instant at which log and database are equal, for a backup that is read from the source. Around any other instant,
 * changes may be coalesced, and errors would stay in everything made from the backup.
 */
export async function capturedMark(context: PitrContext, row: BackupRow, signal: AbortSignal): Promise<CapturedMark> {
  const mark = await endOfLog(context, row, signal, async () => true);
  if (mark) return mark;
  // When capture lags behind, its base is made without a mark: without a base nothing could be reached, and waiting
  // would not help.
  const log = row.trigger === 'pitr' ? await logOf(context, row) : undefined;
  return { logId: log?.enabled ? log.logId : null, at: undefined };
}

/** The state at the end of the log on top of an existing chain. */
export async function capturedSince(
  context: PitrContext,
  row: BackupRow,
  chain: readonly BackupReader[],
  signal: AbortSignal,
): Promise<CapturedState | undefined> {
  const { body } = chain.at(-1)!;
  const mark = await endOfLog(context, row, signal, async (log, transaction) => {
    const isOfLog = isBaseOf(log, { ...body, logId: logIdOf(body) });
    return isOfLog && isUnbroken(body, log.coveredThrough, await coverageOfLog(transaction, log));
  });
  return mark && open(context, row, mark, { signal, chain });
}

async function logOf(
  context: PitrContext,
  { organizationId, projectId, collections, excludeCollections, documentPaths, includeSubcollections }: BackupRow,
): Promise<LogRow | undefined> {
  const isOfAll = collections[0] === '*' && excludeCollections.length === 0 && includeSubcollections;
  if (!isOfAll || documentPaths !== null) return undefined;
  return context.backups.platform.database.tenant(organizationId, (transaction) =>
    pitrStore.find(transaction, organizationId, projectId),
  );
}

interface EndOfLog {
  readonly logId: string;
  readonly at: string;
  /** The destination that it lies in. */
  readonly place: string;
}

/**
 * Waits until the log holds everything that existed when the backup was requested, and returns its end; undefined when
 * that takes too long.
 */
async function endOfLog(
  context: PitrContext,
  row: BackupRow,
  signal: AbortSignal,
  isReached: (log: LogRow, transaction: Parameters<typeof pitrStore.find>[0]) => Promise<boolean>,
): Promise<EndOfLog | undefined> {
  const { database } = context.backups.platform;
  try {
    for (const endsAtMs = performance.now() + waitMsMax; performance.now() < endsAtMs; ) {
      const log = await logOf(context, row);
      if (!log?.enabled || log.error !== null) return undefined;
      if (!(await database.tenant(row.organizationId, (transaction) => isReached(log, transaction)))) return undefined;
      // A stretch that was cut in order to be written does not end at a mark; the rest follows at once.
      if (Date.parse(log.coveredThrough) > row.createdAt.getTime() && !log.position?.isBetweenMarks)
        return { logId: log.logId, at: log.coveredThrough, place: log.storageDestinationId };
      noteWaiting(notThereYet);
      await sleep(checkEveryMs, undefined, { signal });
    }
    return undefined;
  } finally {
    noteResumed();
  }
}

async function open(
  context: PitrContext,
  row: BackupRow,
  { logId, at, place }: EndOfLog,
  request: { signal: AbortSignal; chain?: readonly BackupReader[] },
): Promise<CapturedState | undefined> {
  const { organizationId, projectId } = row;
  try {
    const past = await openPast(context, { organizationId, projectId, at, ...request, isStrict: true });
    const { view, readers, instant, close } = past;
    return { view, readers, instant, logId, documentCount: readers.at(-1)?.body.counts.documents ?? 0, close };
  } catch (error) {
    if ((error as { code?: string }).code === 'POINT_IN_TIME_UNAVAILABLE') return undefined;
    if (!isEngineError(error) || !isLeftToSource(error, row, place)) throw error;
    context.backups.platform.log.warn({ err: error, projectId, logId }, 'captured changes cannot be read');
    return undefined;
  }
}

/**
 * What is damaged or gone stays so, and every backup would fail of it, until somebody reads the source. That the place of the log
 * is away is no reason to wait where the backup goes to another one.
 */
function isLeftToSource({ code }: EngineError, { storageDestinationId }: BackupRow, place: string): boolean {
  return code === 'INTEGRITY_ERROR' || (code.startsWith('STORAGE_') && storageDestinationId !== place);
}
