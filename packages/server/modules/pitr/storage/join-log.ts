import { type LogSegment, LogWriter, type OpenedLogManifest } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { PitrContext } from '../context.ts';
import { laterOf } from '../coverage.ts';
import { type OpenedLog, openLogToRead } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { consecutiveSegments } from './consecutive-segments.ts';

export interface FoundLog {
  readonly manifest: OpenedLogManifest;
  /** Its consecutive segments. */
  readonly segments: readonly LogSegment[];
  readonly coveredThrough: string;
  readonly storageDestinationId: string;
}

const reason = 'Two logs were captured one after the other, and nobody captured between them.';

/**
 * Takes time from another log of the same database that the known log does not cover: copies the segments and seals
 * them with the known log's key. Two captures have no common exact instant, so there is a gap between them.
 */
export async function joinLog(
  context: PitrContext,
  row: LogRow,
  found: FoundLog,
  signal: AbortSignal,
): Promise<{ joinedSegments: number } | { fault: string }> {
  const { manifest, segments, coveredThrough } = found;
  // Time that was taken before and is older than the log now was removed because of its age.
  const isTaken = row.joined.some(({ logId }) => logId === manifest.body.logId);
  const before = isTaken ? [] : segments.filter((segment) => segment.coveredThrough < row.startedFrom);
  const behind = segments.filter((segment) => segment.coveredFrom > row.coveredThrough);
  if (before.length + behind.length === 0) return { joinedSegments: 0 };
  if (row.enabled)
    return {
      fault: `its project captures into another log; it holds ${manifest.body.from} to ${coveredThrough}. Switch off and rescan, and that is taken in`,
    };
  const log = await openLogToRead(context, row);
  try {
    const copies = {
      from: manifest.body.from,
      before: await copyInto(context, log, manifest, before, signal),
      behind: await copyInto(context, log, manifest, behind, signal),
    };
    return { joinedSegments: await catalogue(context, row, found, copies) };
  } finally {
    await log.close();
  }
}

async function copyInto(
  { backups: { engine } }: PitrContext,
  log: OpenedLog,
  { reader }: OpenedLogManifest,
  segments: readonly LogSegment[],
  signal: AbortSignal,
): Promise<LogSegment[]> {
  const writer = new LogWriter({
    store: log.store,
    codec: engine.codec,
    context: log.seal,
    nextSequence: 0,
    put: log.put,
    signal,
  });
  const copies: LogSegment[] = [];
  const keys = segments.map(({ key }) => key);
  for await (const segment of reader.segments(null, null, { keys, signal })) copies.push(await writer.copy(segment));
  return copies;
}

interface Copies {
  readonly from: string;
  readonly before: readonly LogSegment[];
  readonly behind: readonly LogSegment[];
}

async function catalogue(
  { backups: { platform, audit } }: PitrContext,
  { organizationId, projectId, logId, ...seen }: LogRow,
  { manifest, storageDestinationId }: FoundLog,
  copies: Copies,
): Promise<number> {
  return platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.lock(transaction, organizationId, projectId);
    const isSame = row?.logId === logId && !row.enabled && row.storageDestinationId === seen.storageDestinationId;
    // Then the copies are unused, and the next rescan copies again.
    if (!isSame || row.startedFrom !== seen.startedFrom || row.coveredThrough !== seen.coveredThrough) return 0;
    const before = copies.before.length > 0 ? consecutiveSegments(copies.before, copies.from).segments : [];
    const behind = consecutiveSegments(copies.behind, row.coveredThrough);
    const all = [...endedBefore(before, row.startedFrom), ...behind.segments];
    await insert(transaction, row, all, platform.clock.now());
    await pitrStore.update(transaction, organizationId, projectId, {
      nextSequence: row.nextSequence + all.length,
      coveredThrough: behind.coveredThrough,
      joined: [...row.joined, ...takenTimes(manifest.body, [before, behind.segments], storageDestinationId)],
      // The manifest must be rewritten: it says where the log begins and what was taken from others.
      ...(before.length > 0 ? { startedFrom: copies.from } : {}),
      ...(all.length > 0 ? { manifestWritten: false } : {}),
      ...(behind.segments.length > 0 ? { position: null } : {}),
    });
    await audit.noteSystem(transaction, organizationId, {
      action: 'pitr.segments_taken_up',
      resource: { type: 'project', id: projectId },
      details: { logId, fromLogId: manifest.body.logId, segments: all.length },
    });
    return all.length;
  });
}

/** From which log each stretch was taken, also when the other log had taken it from a third one. */
function takenTimes(
  { logId, joined = [] }: OpenedLogManifest['body'],
  runs: readonly (readonly LogSegment[])[],
  storageDestinationId: string,
): LogRow['joined'] {
  return runs.flatMap((segments) => {
    if (segments.length === 0) return [];
    const from = segments.map(({ coveredFrom }) => coveredFrom).sort()[0]!;
    const through = segments
      .map((segment) => segment.coveredThrough)
      .sort()
      .at(-1)!;
    const within = joined.filter((one) => one.from <= through && one.through >= from);
    return [...within, { logId, from, through }].map((one) => ({
      logId: one.logId,
      from: laterOf(one.from, from),
      through: [one.through, through].sort()[0]!,
      storageDestinationId,
    }));
  });
}

async function insert(transaction: Transaction, row: LogRow, segments: readonly LogSegment[], now: Date) {
  for (const [index, segment] of segments.entries())
    await segmentStore.insert(transaction, { ...row, nextSequence: row.nextSequence + index }, segment, now);
}

/** Adds the gap up to the beginning of the known log to the last segment. */
function endedBefore(segments: readonly LogSegment[], through: string): LogSegment[] {
  const last = segments.findLastIndex((segment) => segment.coveredFrom < segment.coveredThrough);
  return segments.map((segment, index) => {
    if (index !== last) return segment;
    const { gap, coveredThrough } = segment;
    const merged = gap === null ? { from: coveredThrough, reason } : { ...gap, reason: `${gap.reason} ${reason}` };
    return { ...segment, gap: { from: merged.from, through, reason: merged.reason, deletionsUnknown: true } };
  });
}
