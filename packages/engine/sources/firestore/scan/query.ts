/** The structured queries behind scans, counts and partitions. */

import { type Instant, instantToParts, toMicroseconds } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { collectionIdOf, parentOf } from '../names.ts';
import type { JsonMessage } from '../protos.ts';
import type { QueryPart } from './scope.ts';

export interface QueryShape {
  readonly namesOnly?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Continue behind this document. */
  readonly afterName?: string | undefined;
}

export function parentName(client: FirestoreClient, part: QueryPart): string {
  return part.collection === null ? client.root : client.name(parentOf(part.collection));
}

export function structuredQuery(client: FirestoreClient, part: QueryPart, shape: QueryShape = {}): JsonMessage {
  const from = part.collection === null ? { allDescendants: true } : { collectionId: collectionIdOf(part.collection) };
  const start = shape.afterName === undefined ? part.start : null;
  return {
    from: [from],
    orderBy: [{ field: { fieldPath: '__name__' }, direction: 'ASCENDING' }],
    ...(shape.namesOnly ? { select: { fields: [{ fieldPath: '__name__' }] } } : {}),
    ...(shape.limit === undefined ? {} : { limit: { value: shape.limit } }),
    ...(shape.afterName === undefined ? {} : { startAt: cursor(shape.afterName, false) }),
    ...(start === null ? {} : { startAt: cursor(client.name(start.path), start.inclusive) }),
    ...(part.end === null ? {} : { endAt: cursor(client.name(part.end.path), !part.end.inclusive) }),
  };
}

function cursor(name: string, before: boolean): JsonMessage {
  return { values: [{ referenceValue: name }], before };
}

/** A server may return times in nanoseconds but accepts read times only in microseconds. */
export function timestampMessage(instant: Instant): JsonMessage {
  return instantToParts(toMicroseconds(instant));
}
