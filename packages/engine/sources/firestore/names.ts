/** Names, paths, and positions between documents. */

import type { PathRange } from '../../ports/index.ts';
import { comparePaths } from '../../ports/index.ts';

/** Sorts before every other id, so `users/` + this is the position before all documents of `users`. */
const smallestId = '__id-9223372036854775808__';

function segmentCount(path: string): number {
  let count = 1;
  for (let index = path.indexOf('/'); index >= 0; index = path.indexOf('/', index + 1)) count += 1;
  return count;
}

export function isCollectionPath(path: string): boolean {
  return path !== '' && segmentCount(path) % 2 === 1 && path.split('/').every((segment) => segment !== '');
}

/** Queries accept only document names as bounds, so a collection's path means the position before its documents. */
export function positionOf(path: string): string {
  return segmentCount(path) % 2 === 1 ? `${path}/${smallestId}` : path;
}

/** No collection id sorts before a single zero character, so this is between a document and everything below it. */
const behind = `/\0/${smallestId}`;

/** The position right behind a document, before its own descendants. */
export function positionBehind(documentPath: string): string {
  return segmentCount(documentPath) % 2 === 1 ? positionOf(documentPath) : documentPath + behind;
}

/** The document before a position made by positionBehind; undefined for any other position. */
export function documentBefore(position: string): string | undefined {
  return position.endsWith(behind) ? position.slice(0, -behind.length) : undefined;
}

/** All that lies in a collection and below its documents, and nothing else. */
export function subtreeOf(collectionPath: string): { start: string; end: string } {
  // The next possible id is this one with a zero character appended, so the next collection begins there.
  return { start: `${collectionPath}/${smallestId}`, end: `${collectionPath}\0/${smallestId}` };
}

export function collectionIdOf(collectionPath: string): string {
  return collectionPath.slice(collectionPath.lastIndexOf('/') + 1);
}

/** `users/ada/orders` → `users/ada`; `users` → ``. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

export function intersect(left: PathRange, right: PathRange): PathRange | undefined {
  const start = larger(left.start, right.start);
  const end = smaller(left.end, right.end);
  if (start !== null && end !== null && comparePaths(start, end) >= 0) return undefined;
  return { start, end };
}

function larger(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return comparePaths(left, right) >= 0 ? left : right;
}

function smaller(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return comparePaths(left, right) <= 0 ? left : right;
}

/** The parts of `range` that lie outside `hole`, ascending. */
export function subtract(range: PathRange, hole: { start: string; end: string }): PathRange[] {
  const before = intersect(range, { start: null, end: hole.start });
  const behind = intersect(range, { start: hole.end, end: null });
  return [before, behind].filter((part) => part !== undefined);
}
