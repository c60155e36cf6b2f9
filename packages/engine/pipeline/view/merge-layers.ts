import { comparePaths } from '../../ports/path-order.ts';
import { type Layer, type LoadedSegment, loadSegments } from './layer.ts';
import { lowerBound, type Selection, selects, selectsEverything } from './selection.ts';

/** Neighbouring entries [from, to) of one segment that are selected and the newest of their paths. */
export interface Run {
  readonly segment: LoadedSegment;
  readonly from: number;
  readonly to: number;
}

export interface MergeOptions {
  readonly namesOnly: boolean;
  /** A view hides deletes; an increment on top of it needs them. */
  readonly includeDeletes: boolean;
  readonly signal: AbortSignal | undefined;
  /**
   * Called after each stretch with its last path, even if nothing in it was selected. The merge ends when it returns
   * false.
   */
  readonly goesOn?: ((lastPath: string) => boolean) | undefined;
}

interface Cursor {
  readonly segments: AsyncGenerator<LoadedSegment>;
  segment: LoadedSegment | undefined;
  position: number;
}

/**
 * Merges layers, given oldest first, by path; the newest layer wins. Works on runs and not on records: a stretch that
 * only one layer has is passed on whole.
 */
export async function* mergeLayers(
  layers: readonly Layer[],
  selection: Selection,
  options: MergeOptions,
): AsyncGenerator<Run> {
  const cursors: Cursor[] = layers.map((layer) => ({
    segments: loadSegments(layer, selection, options),
    segment: undefined,
    position: 0,
  }));
  try {
    for (const cursor of cursors) await advanceTo(cursor, 0);
    for (let winner = newestOfFirst(cursors); winner !== undefined; winner = newestOfFirst(cursors)) {
      const { segment, position } = winner as { segment: LoadedSegment; position: number };
      const path = segment.entries.paths[position]!;
      for (const rival of cursors) {
        if (rival !== winner && rival.segment?.entries.paths[rival.position] === path)
          await advanceTo(rival, rival.position + 1);
      }
      const bound = firstPathOf(cursors, winner);
      const to = bound === undefined ? segment.entries.count : lowerBound(segment.entries.paths, position + 1, bound);
      yield* chosen(segment, position, to, selection, options.includeDeletes);
      if (options.goesOn?.(segment.entries.paths[to - 1]!) === false) return;
      await advanceTo(winner, to);
    }
  } finally {
    await Promise.all(cursors.map(({ segments }) => segments.return(undefined)));
  }
}

async function advanceTo(cursor: Cursor, position: number): Promise<void> {
  cursor.position = position;
  while (cursor.segment === undefined || cursor.position >= cursor.segment.entries.count) {
    const next = await cursor.segments.next();
    cursor.segment = next.done ? undefined : next.value;
    cursor.position = 0;
    if (next.done) return;
  }
}

/** The cursor at the smallest path. If there are several, the newest, which is the last one. */
function newestOfFirst(cursors: readonly Cursor[]): Cursor | undefined {
  let best: Cursor | undefined;
  for (const cursor of cursors) {
    if (cursor.segment === undefined) continue;
    if (best === undefined || comparePaths(pathOf(cursor), pathOf(best)) <= 0) best = cursor;
  }
  return best;
}

function firstPathOf(cursors: readonly Cursor[], except: Cursor): string | undefined {
  let first: string | undefined;
  for (const cursor of cursors) {
    if (cursor === except || cursor.segment === undefined) continue;
    if (first === undefined || comparePaths(pathOf(cursor), first) < 0) first = pathOf(cursor);
  }
  return first;
}

function pathOf(cursor: Cursor): string {
  return cursor.segment!.entries.paths[cursor.position]!;
}

/** Splits [from, to) where entries are deletes or not selected. */
function* chosen(
  segment: LoadedSegment,
  from: number,
  to: number,
  selection: Selection,
  includeDeletes: boolean,
): Generator<Run> {
  const { entries, descriptor } = segment;
  const isPlain = (includeDeletes || descriptor.deletes === 0) && selectsEverything(selection);
  if (isPlain) {
    if (to > from) yield { segment, from, to };
    return;
  }
  let start = from;
  for (let index = from; index < to; index += 1) {
    const isChosen = (includeDeletes || entries.isDelete[index] === 0) && selects(selection, entries.paths[index]!);
    if (isChosen) continue;
    if (index > start) yield { segment, from: start, to: index };
    start = index + 1;
  }
  if (to > start) yield { segment, from: start, to };
}
