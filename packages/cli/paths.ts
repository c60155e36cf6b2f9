import { InvalidArgumentError } from 'commander';

/** Typed paths, checked before anything is sent to the service or read from a store. */
export function documentPath(text: string): string {
  if (segmentCount(text) % 2 === 0) return text;
  throw new InvalidArgumentError('It must be the path of a document, such as users/ada.');
}

export function collectionPath(text: string): string {
  if (segmentCount(text) % 2 === 1) return text;
  throw new InvalidArgumentError('It must be the path of a collection, such as users or users/ada/orders.');
}

export function anyPath(text: string): string {
  if (!Number.isNaN(segmentCount(text))) return text;
  throw new InvalidArgumentError('It must be the path of a collection or a document, such as users or users/ada.');
}

/** For options that take several. */
export function documentPaths(text: string, former: readonly string[] = []): string[] {
  return [...former, documentPath(text)];
}

export function collectionPaths(text: string, former: readonly string[] = []): string[] {
  return [...former, collectionPath(text)];
}

/** NaN if a slash is at an end or doubled, or if Firestore does not allow a segment. */
function segmentCount(text: string): number {
  const segments = text.split('/');
  return segments.some((segment) => ['', '.', '..'].includes(segment)) ? Number.NaN : segments.length;
}
