/** The outcomes of single writes: counted, and passed to the guard. */

import { type MergeMode, recordKind, type Version, type WriteGuard, type WriteOutcome } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { grpcCodeName } from '../transport/status.ts';
import type { Governor } from './governor.ts';
import type { Tally } from './tally.ts';
import type { WriteBatch } from './write-batch.ts';

export interface SendContext {
  readonly client: FirestoreClient;
  readonly governor: Governor;
  readonly tally: Tally;
  readonly mode: MergeMode;
  /** Aborted when no further request may be sent. */
  readonly signal: AbortSignal;
  /** Aborted when answers to requests in progress are not waited for either. */
  readonly giveUp: AbortSignal;
  readonly guard: WriteGuard | undefined;
  /** By slot: the versions that the writes may replace, and their outcomes. Both are empty without a guard. */
  readonly expected: (Version | null | undefined)[];
  readonly outcomes: WriteOutcome[];
  /** By slot: how often another version than expected was found. */
  readonly looks: Map<number, number>;
  /** By slot, for a merge: the other version that was found and is merged into; null when no document was found. */
  readonly over: Map<number, Uint8Array | null>;
  /** An earlier run, or an attempt whose answer was lost, may have done some of these writes. */
  mayBeRepeated: boolean;
  /**
   * A document that was not changed after this time is not the result of these writes; undefined when an earlier run
   * may have sent some.
   */
  readonly sentAfter: Version | undefined;
  /** A request was sent whose outcome is unknown. */
  isUnsure: boolean;
  /** Sends nothing: only finds writes that were not recorded. */
  readonly isInquiry: boolean;
  /** Reports that a part of the batch is done while the rest may take long. */
  reportAhead(): void;
  onVersion(version: Version): void;
}

export function succeed(context: SendContext, batch: WriteBatch, index: number, version: Version | null): void {
  const { tally, client } = context;
  const isDelete = batch.hasDeletes && batch.isDelete(index);
  tally.bytes += batch.writeBytes(index);
  if (isDelete) {
    tally.deleted += 1;
    client.usage.documentsDeleted += 1;
  } else {
    tally.written += 1;
    client.usage.documentsWritten += 1;
    if (version) context.onVersion(version);
  }
  tell(context, batch, index, 'written', isDelete ? null : version);
}

export function skip(context: SendContext, batch: WriteBatch, index: number): void {
  context.tally.skipped += 1;
  tell(context, batch, index, 'skipped', null);
}

export function leaveToConflict(context: SendContext, batch: WriteBatch, index: number): void {
  context.tally.conflicts += 1;
  tell(context, batch, index, 'conflict', null);
}

export function fail(context: SendContext, batch: WriteBatch, index: number, code: number, message: string): void {
  context.tally.fail(batch.path(index), grpcCodeName(code), message);
  tell(context, batch, index, 'failed', null);
}

function tell(
  { guard, outcomes, expected }: SendContext,
  batch: WriteBatch,
  index: number,
  result: WriteOutcome['result'],
  version: Version | null,
): void {
  if (guard === undefined) return;
  const slot = batch.slots[index]!;
  const kind = batch.hasDeletes && batch.isDelete(index) ? recordKind.delete : recordKind.put;
  outcomes[slot] = { path: batch.path(index), kind, result, version, replaced: expected[slot] };
}
