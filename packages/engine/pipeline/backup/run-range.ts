import { addCounts } from '../../format/collection-counter.ts';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { ManifestRange } from '../../format/manifest-body.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { segmentContent } from '../../format/segment-header.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import type { DocumentSource } from '../../ports/document-source.ts';
import { EngineError, isEngineError } from '../../ports/errors.ts';
import { comparePaths, type PathRange } from '../../ports/path-order.ts';
import type { BufferPool } from '../segments/buffer-pool.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { fullSegmentBytes, incrementSegmentBytes, SegmentWriter } from '../segments/segment-writer.ts';
import type { View } from '../view/view.ts';
import type { BackupPlan } from './backup-plan.ts';
import type { PartScan, RangeTally } from './part-scan.ts';
import { scanChanges } from './scan-changes.ts';
import { scanDocuments } from './scan-documents.ts';

/**
 * The progress of a range, as plain JSON. A worker reports it after every stored segment, another worker continues from
 * it, and the complete ones make the manifest.
 */
export interface RangeState {
  readonly range: number;
  readonly parts: ManifestRange['parts'];
  /** Documents in this range; exact once the range is complete. */
  readonly documents: number;
  readonly collections: readonly (readonly [string, number])[];
  readonly segments: readonly SegmentDescriptor[];
  readonly isComplete: boolean;
}

export interface RunRangeOptions {
  readonly plan: BackupPlan;
  readonly range: number;
  readonly source: DocumentSource;
  readonly store: BlobStore;
  readonly dataKey: Uint8Array;
  readonly codec: SegmentCodec;
  readonly buffers: BufferPool;
  /** The view the increment is compared with; required exactly when the plan has a parent. */
  readonly parentView?: View;
  readonly resumeFrom?: RangeState;
  readonly onCheckpoint?: (state: RangeState) => void | Promise<void>;
  /** Called with every batch read, for progress; must be cheap. */
  readonly onRead?: (documents: number, bytes: number) => void;
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly segmentBytes?: number;
  readonly signal?: AbortSignal;
}

/** With more restarts than this, the source's history is too short to read it. */
const partsMax = 100;

export async function runRange(options: RunRangeOptions): Promise<RangeState> {
  const { plan, range, source, signal } = options;
  if (options.resumeFrom?.isComplete) return options.resumeFrom;
  const pathRange = plan.ranges[range];
  if (pathRange === undefined) throw new Error(`The plan has no range ${range}.`);
  const anew = (readTime: string): RangeState => ({ ...unbegun, range, parts: [{ start: pathRange.start, readTime }] });
  const resumeFrom = resumable(options, anew);
  const segments = [...(resumeFrom?.segments ?? [])];
  const parts = [...(resumeFrom?.parts ?? [{ start: pathRange.start, readTime: plan.snapshotTime }])];
  const isIncrement = plan.parent !== null;
  const collections = new Map(isIncrement ? [] : resumeFrom?.collections);
  const resumeAfter = segments.at(-1)?.lastPath;
  const tally: RangeTally = {
    documents: isIncrement ? 0 : segments.reduce((sum, { puts }) => sum + puts, 0),
    through: isIncrement ? undefined : resumeAfter,
    collections,
  };
  const stateNow = (isComplete: boolean): RangeState => ({
    range,
    parts: [...parts],
    documents: isComplete ? tally.documents : segments.reduce((sum, { puts }) => sum + puts, 0),
    collections: [...collections],
    segments: [...segments],
    isComplete,
  });
  const writer = openWriter(options, segments.length, async ({ descriptor, collections: counted }) => {
    segments.push(descriptor);
    if (!isIncrement) addCounts(collections, counted);
    await options.onCheckpoint?.(stateNow(false));
  });
  // When the read time has changed, only the last part can be counted, so the check begins there.
  const isCountable = parts.length === 1;
  let documentsBeforePart = isCountable ? 0 : tally.documents;
  let partAfter = isCountable ? undefined : tally.through;
  try {
    for (;;) {
      const readTime = parts.at(-1)!.readTime;
      const onRead = options.onRead ?? (() => undefined);
      const part: PartScan = { source, plan, pathRange, readTime, after: tally.through, signal, writer, tally, onRead };
      let counting = startCount(options, pathRange, readTime, partAfter);
      try {
        if (isIncrement) await scanChanges(part, parentViewOf(options), resumeAfter);
        else await scanDocuments(part);
      } catch (error) {
        counting.stop();
        if (!isEngineError(error, 'SNAPSHOT_TOO_OLD') || parts.length >= partsMax) throw error;
        const later = await source.snapshotTime({ isLasting: true, ...(signal ? { signal } : {}) });
        if (isIncrement && isBefore(tally.through, resumeAfter))
          return await runRange({ ...options, resumeFrom: anew(later) });
        documentsBeforePart = tally.documents;
        partAfter = tally.through;
        parts.push({ start: tally.through ?? pathRange.start, readTime: later });
        continue;
      }
      try {
        await writer.finish();
        const seen = tally.documents - documentsBeforePart;
        if ((await counting.counted) < seen) {
          // A count by collection groups may have missed some groups; now all are known.
          counting.stop();
          counting = startCount(options, pathRange, readTime, partAfter, collectionIdsOf(collections));
        }
        assertCounted(await counting.counted, seen, pathRange);
      } finally {
        counting.stop();
      }
      break;
    }
  } finally {
    await writer.abandon();
  }
  const state = stateNow(true);
  await options.onCheckpoint?.(state);
  return state;
}

const unbegun = { documents: 0, collections: [], segments: [], isComplete: false };

/**
 * An increment counts documents while it compares, from the beginning of the range. If an earlier worker compared with
 * another instant, its segments would be counted wrongly, so the range starts again.
 */
function resumable({ plan, resumeFrom }: RunRangeOptions, anew: (readTime: string) => RangeState) {
  if (plan.parent === null || resumeFrom === undefined || resumeFrom.parts.length === 1) return resumeFrom;
  return anew(resumeFrom.parts.at(-1)!.readTime);
}

function isBefore(path: string | undefined, other: string | undefined): boolean {
  return other !== undefined && (path === undefined || comparePaths(path, other) < 0);
}

function openWriter(
  options: RunRangeOptions,
  firstSequence: number,
  onSegment: ConstructorParameters<typeof SegmentWriter>[0]['onSegment'],
) {
  const { plan, store, codec, buffers, dataKey, range, lock, signal } = options;
  const context = { ownerId: plan.backupId, dataKey, database: plan.database };
  return new SegmentWriter({
    store,
    codec,
    buffers,
    context,
    content: segmentContent.documents,
    range,
    firstSequence,
    segmentBytes: options.segmentBytes ?? (plan.parent === null ? fullSegmentBytes : incrementSegmentBytes),
    keyOf: ({ id }) => segmentKey(plan.backupId, id),
    onSegment,
    ...(lock ? { lock } : {}),
    ...(signal ? { signal } : {}),
  });
}

function parentViewOf({ parentView }: RunRangeOptions): View {
  if (parentView === undefined) throw new Error('An increment needs the view of its parent.');
  return parentView;
}

/**
 * Starts the source's own count, which shows whether the scan saw everything: a stream that ended early must not count
 * as a complete range. The count is of the same instant, so it can run beside the scan.
 */
function startCount(
  { source, plan, signal }: RunRangeOptions,
  pathRange: PathRange,
  readTime: string,
  after: string | undefined,
  collectionIds?: readonly string[],
): { readonly counted: Promise<number>; stop(): void } {
  const stopping = new AbortController();
  const counted = source.count(pathRange, {
    scope: plan.scope,
    readTime,
    ...(after === undefined ? {} : { after }),
    ...(collectionIds === undefined ? {} : { collectionIds }),
    signal: signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal,
  });
  // Awaited after the scan; a failed scan has its own error.
  counted.catch(() => undefined);
  return { counted, stop: () => stopping.abort() };
}

function collectionIdsOf(collections: ReadonlyMap<string, number>): string[] {
  return [...new Set([...collections.keys()].map((shape) => shape.slice(shape.lastIndexOf('/') + 1)))];
}

function assertCounted(counted: number, seen: number, range: PathRange): void {
  if (counted === seen) return;
  throw new EngineError('INTEGRITY_ERROR', `The database counts ${counted} documents where ${seen} were read.`, {
    details: { counted, seen, range },
  });
}
