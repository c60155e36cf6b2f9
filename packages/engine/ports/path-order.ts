/**
 * The order of document names, as Firestore sorts `__name__`: segment by segment, a shorter path before the paths that
 * continue it; numeric ids (`__id7__`) before all others and by their number; all others by their UTF-8 bytes.
 * A *path* is the part of a document's name after `/documents/`, for example `users/ada/orders/7`.
 */
const numericIdPattern = /^__id(-?\d{1,19})__$/;

export function comparePaths(left: string, right: string): number {
  if (left === right) return 0;
  const shared = sharedLength(left, right);
  const segmentStart = shared === 0 ? 0 : left.lastIndexOf('/', shared - 1) + 1;
  if (left.startsWith('__id', segmentStart) || right.startsWith('__id', segmentStart)) {
    const numeric = compareNumericSegments(segmentAt(left, segmentStart), segmentAt(right, segmentStart));
    if (numeric !== 0) return numeric;
  }
  return compareUnits(unitAt(left, shared), unitAt(right, shared));
}

function sharedLength(left: string, right: string): number {
  const limit = Math.min(left.length, right.length);
  let index = 0;
  while (index < limit && left.charCodeAt(index) === right.charCodeAt(index)) index += 1;
  return index;
}

function segmentAt(path: string, start: number): string {
  const end = path.indexOf('/', start);
  return end < 0 ? path.slice(start) : path.slice(start, end);
}

/** Zero means "not decided by numbers". */
function compareNumericSegments(left: string, right: string): number {
  const leftNumber = numericIdPattern.exec(left);
  const rightNumber = numericIdPattern.exec(right);
  if (leftNumber === null && rightNumber === null) return 0;
  if (rightNumber === null) return -1;
  if (leftNumber === null) return 1;
  const difference = BigInt(leftNumber[1]!) - BigInt(rightNumber[1]!);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The end of a path sorts first, the end of a segment second, every character after both. */
function unitAt(path: string, index: number): number {
  if (index >= path.length) return -2;
  const unit = path.charCodeAt(index);
  return unit === 0x2f ? -1 : unit;
}

/**
 * UTF-16 sorts surrogates before U+E000..U+FFFF, UTF-8 sorts them after: the only difference between the two orders.
 */
function compareUnits(left: number, right: number): number {
  const leftRank = left >= 0xd800 && left <= 0xdfff ? left + 0x10000 : left;
  const rightRank = right >= 0xd800 && right <= 0xdfff ? right + 0x10000 : right;
  return leftRank - rightRank;
}

/** Half-open: `start` inclusive, `end` exclusive, null = unbounded. Bounds are positions, not necessarily documents. */
export interface PathRange {
  readonly start: string | null;
  readonly end: string | null;
}

export const everything: PathRange = { start: null, end: null };

export function rangeContains(range: PathRange, path: string): boolean {
  if (range.start !== null && comparePaths(path, range.start) < 0) return false;
  return range.end === null || comparePaths(path, range.end) < 0;
}

/** True when a document of one range could also lie in the other. */
export function rangesMeet(left: PathRange, right: PathRange): boolean {
  const leftBeforeRight = left.end !== null && right.start !== null && comparePaths(left.end, right.start) <= 0;
  const rightBeforeLeft = right.end !== null && left.start !== null && comparePaths(right.end, left.start) <= 0;
  return !leftBeforeRight && !rightBeforeLeft;
}
