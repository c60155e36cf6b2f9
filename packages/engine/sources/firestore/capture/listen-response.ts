/** Reads ListenResponses: documents stay bytes, everything else is small and decoded. */

import { type Instant, instantFromParts } from '../../../ports/index.ts';
import { endOfVarint, readLength, readTag, skipField } from '../../../ports/wire.ts';
import { messages } from '../protos.ts';
import { BloomFilter, type BloomFilterMessage } from './bloom-filter.ts';

const documentChangeTag = 0x1a;
const documentTag = 0x0a;

export type ListenEvent =
  | { readonly kind: 'put'; readonly body: Buffer }
  | { readonly kind: 'gone'; readonly name: string; readonly at: Instant }
  | { readonly kind: 'filter'; readonly targetId: number; readonly names: BloomFilter | undefined }
  | {
      readonly kind: 'target';
      readonly change: string;
      readonly targetIds: readonly number[];
      readonly readTime: Instant | undefined;
      readonly resumeToken: Buffer | undefined;
      readonly cause: { readonly code: number; readonly message: string } | undefined;
    };

interface Timestamp {
  readonly seconds?: number;
  readonly nanos?: number;
}

interface SmallResponse {
  readonly targetChange?: {
    readonly targetChangeType?: string;
    readonly targetIds?: number[];
    readonly cause?: { readonly code?: number; readonly message?: string };
    readonly resumeToken?: Uint8Array;
    readonly readTime?: Timestamp;
  };
  readonly documentDelete?: { readonly document?: string; readonly readTime?: Timestamp };
  readonly documentRemove?: { readonly document?: string; readonly readTime?: Timestamp };
  readonly filter?: { readonly targetId?: number; readonly unchangedNames?: BloomFilterMessage };
}

export function readListenEvent(bytes: Buffer, start: number, end: number): ListenEvent | undefined {
  if (readTag(bytes, start) === documentChangeTag) return readDocumentChange(bytes, endOfVarint(), end);
  const response = messages.listenResponse.decode(bytes.subarray(start, end)) as SmallResponse;
  const { targetChange, filter } = response;
  const gone = response.documentDelete ?? response.documentRemove;
  if (gone !== undefined) return { kind: 'gone', name: gone.document ?? '', at: toInstant(gone.readTime ?? {}) };
  if (filter !== undefined) {
    const names = BloomFilter.of(filter.unchangedNames);
    return { kind: 'filter', targetId: filter.targetId ?? 0, names };
  }
  if (targetChange === undefined) return undefined;
  const { cause, resumeToken, readTime } = targetChange;
  return {
    kind: 'target',
    change: targetChange.targetChangeType ?? 'NO_CHANGE',
    targetIds: targetChange.targetIds ?? [],
    readTime: readTime === undefined ? undefined : toInstant(readTime),
    resumeToken: resumeToken === undefined || resumeToken.length === 0 ? undefined : Buffer.from(resumeToken),
    cause: cause === undefined ? undefined : { code: cause.code ?? 2, message: cause.message ?? '' },
  };
}

/** DocumentChange { document = 1 } */
function readDocumentChange(bytes: Buffer, lengthAt: number, end: number): ListenEvent | undefined {
  const length = readLength(bytes, lengthAt, end);
  let position = endOfVarint();
  const changeEnd = position + length;
  while (position < changeEnd) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, changeEnd);
    if (tag === documentTag) {
      const bodyStart = next - readLength(bytes, contentAt, changeEnd);
      return { kind: 'put', body: Buffer.from(bytes.subarray(bodyStart, next)) };
    }
    position = next;
  }
  return undefined;
}

function toInstant({ seconds = 0, nanos = 0 }: Timestamp): Instant {
  return instantFromParts(seconds, nanos);
}
