/**
 * One Listen stream with many collection groups. Reports changes as they come, and each instant up to which all its
 * groups were sent.
 */

import { randomUUID } from 'node:crypto';
import type { Instant } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { messages, methods } from '../protos.ts';
import { timestampMessage } from '../scan/query.ts';
import type { GrpcCall } from '../transport/call.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import type { BloomFilter } from './bloom-filter.ts';
import { type Change, deleteChange, putChange } from './changes.ts';
import { groupOf } from './group-scan.ts';
import { type ListenEvent, readListenEvent } from './listen-response.ts';
import { ResentState } from './resent-state.ts';

/** A stream that was asked and is silent this long is dead. */
const idleTimeoutMs = 150_000;
/** Beyond the ids of groups. */
const firstQuestionId = 1_000_000;

/** The server dropped a group before it had caught up: asking again would be billed again and fail again. */
export class GroupDropped extends GrpcError {
  readonly group: string;

  constructor(group: string, reason: string) {
    super(grpcCode.UNAVAILABLE, `"${group}" was dropped before it had caught up: ${reason}`);
    this.group = group;
  }
}

export interface ListenHandlers {
  readonly onChange: (change: Change) => void;
  readonly onSnapshot: (stream: ListenStream) => void;
  readonly onEnd: (error: unknown) => void;
}

/** Where listening to a group starts: after an instant, or with everything the group holds. */
export type StartPoint =
  | { readonly readTime: Instant; readonly resumeToken?: Buffer | undefined; readonly expectedCount?: number }
  | 'beginning';

interface Target {
  readonly group: string;
  readonly start: StartPoint;
  isCurrent: boolean;
  names: BloomFilter | undefined;
}

export class ListenStream {
  readonly #client: FirestoreClient;
  readonly #handlers: ListenHandlers;
  readonly #targets = new Map<number, Target>();
  /** State of groups that a server sends as a whole instead of telling changes. */
  readonly #resent = new Map<string, ResentState>();
  #call: GrpcCall | undefined;
  #nextTargetId = 1;
  /** A document that never exists: when asked for it, a server says up to which time everything was sent. */
  readonly #nowhere: string;
  readonly #askAfterMs: number;
  #askTimer: NodeJS.Timeout | undefined;
  #questionId = firstQuestionId;
  #isAsking = false;
  #snapshotTime: Instant | undefined;
  #resumeToken: Buffer | undefined;

  constructor(client: FirestoreClient, handlers: ListenHandlers, askAfterMs: number) {
    this.#client = client;
    this.#handlers = handlers;
    this.#askAfterMs = askAfterMs;
    this.#nowhere = client.name(`holdfast/${randomUUID()}`);
  }

  get snapshotTime(): Instant | undefined {
    return this.#snapshotTime;
  }

  /** Belongs to snapshotTime. */
  get resumeToken(): Buffer | undefined {
    return this.#resumeToken;
  }

  get targetCount(): number {
    return this.#targets.size;
  }

  async open(signal: AbortSignal): Promise<void> {
    const handlers = {
      onMessage: (bytes: Buffer, start: number, end: number) => {
        this.#client.usage.bytesReceived += end - start;
        const event = readListenEvent(bytes, start, end);
        if (event !== undefined) this.#onEvent(event);
      },
      onEnd: (error: GrpcError | undefined) => {
        clearInterval(this.#askTimer);
        this.#handlers.onEnd(error ?? new GrpcError(grpcCode.UNAVAILABLE, 'the server ended the stream'));
      },
    };
    const limits = { idleTimeoutMs: idleTimeoutMs, signal };
    this.#call = await this.#client.channel.open(methods.listen, this.#client.routing('database'), handlers, limits);
    this.#askTimer = setInterval(() => this.#ask(), this.#askAfterMs).unref();
  }

  /** Snapshots pause until the new group has caught up. */
  addGroup(group: string, start: StartPoint): void {
    const targetId = this.#nextTargetId++;
    this.#targets.set(targetId, { group, start, isCurrent: false, names: undefined });
    this.#snapshotTime = undefined;
    const structuredQuery = { from: [{ collectionId: group, allDescendants: true }] };
    this.#send({
      addTarget: { query: { parent: this.#client.root, structuredQuery }, targetId, ...startFields(start) },
    });
  }

  /** Servers report from time to time that nothing changed. A server that does not is asked. */
  #ask(): void {
    if (this.#isAsking || this.#snapshotTime === undefined) return;
    this.#isAsking = true;
    this.#questionId += 1;
    this.#client.usage.documentsRead += 1;
    this.#send({ addTarget: { documents: { documents: [this.#nowhere] }, targetId: this.#questionId } });
  }

  #stopAsking(): void {
    this.#askTimer?.refresh();
    if (!this.#isAsking) return;
    this.#isAsking = false;
    this.#send({ removeTarget: this.#questionId });
  }

  #send(request: Record<string, unknown>): void {
    this.#call!.send(messages.listenRequest.encode({ database: this.#client.database, ...request }));
  }

  /** Returns once the names that the group still has, as the server says. */
  takeNamesOf(group: string): BloomFilter | undefined {
    for (const target of this.#targets.values()) {
      if (target.group !== group || target.names === undefined) continue;
      const { names } = target;
      target.names = undefined;
      return names;
    }
    return undefined;
  }

  pause(): void {
    this.#call?.pause();
  }

  resume(): void {
    this.#call?.resume();
  }

  close(): void {
    clearInterval(this.#askTimer);
    this.#call?.cancel();
  }

  #onEvent(event: ListenEvent): void {
    if (event.kind === 'put') {
      this.#client.usage.documentsRead += 1;
      this.#onChange(putChange(event.body));
    } else if (event.kind === 'gone') {
      if (event.name !== this.#nowhere) this.#onChange(deleteChange(event.name, event.at));
    } else if (event.kind === 'filter') {
      const target = this.#targets.get(event.targetId);
      if (target !== undefined) target.names = event.names;
    } else this.#onTargetChange(event);
  }

  #onChange(change: Change): void {
    const state = this.#resent.size === 0 ? undefined : this.#resent.get(groupOf(change.path));
    const isNews = state?.hear(change) ?? true;
    if (state?.isTooLarge) throw new GrpcError(grpcCode.OUT_OF_RANGE, 'more was sent anew than can be held');
    if (isNews) this.#handlers.onChange(change);
  }

  #onTargetChange(event: ListenEvent & { kind: 'target' }): void {
    const { change, targetIds, readTime } = event;
    if (targetIds.length > 0 && targetIds.every((id) => id >= firstQuestionId)) {
      this.#onAnswer(event);
      return;
    }
    if (change === 'REMOVE') this.#onRemove(event);
    if (change === 'RESET') for (const target of this.#targetsOf(targetIds)) this.#onReset(target);
    if (change === 'CURRENT') {
      for (const target of this.#targetsOf(targetIds)) this.#onCurrent(target);
      return;
    }
    const isSnapshot = change === 'NO_CHANGE' && targetIds.length === 0 && readTime !== undefined;
    if (!isSnapshot || ![...this.#targets.values()].every((target) => target.isCurrent)) return;
    for (const state of this.#resent.values()) state.snapshot(readTime);
    this.#snapshotTime = readTime;
    this.#resumeToken = event.resumeToken;
    this.#stopAsking();
    this.#handlers.onSnapshot(this);
  }

  /** A server that refuses the question is not asked again; its answers about groups still count. */
  #onAnswer({ change, cause }: ListenEvent & { kind: 'target' }): void {
    if (change !== 'REMOVE' || cause === undefined) return;
    clearInterval(this.#askTimer);
    this.#isAsking = false;
  }

  #onRemove({ targetIds, cause }: ListenEvent & { kind: 'target' }): never {
    const reason = cause?.message ?? 'the target was removed';
    const dropped = targetIds.map((id) => this.#targets.get(id)).find((target) => target?.isCurrent === false);
    const isRefusal = cause !== undefined && refusals.has(cause.code);
    if (dropped !== undefined && !isRefusal) throw new GroupDropped(dropped.group, reason);
    throw new GrpcError(cause?.code ?? grpcCode.UNAVAILABLE, reason);
  }

  /** The whole group is sent again. It is unknown what the group held, so deletions in between would be missed. */
  #onReset(target: Target): void {
    const isKnown = !target.isCurrent || this.#resent.has(target.group);
    if (!isKnown) throw new GrpcError(grpcCode.OUT_OF_RANGE, 'the target was reset');
    target.isCurrent = false;
    let state = this.#resent.get(target.group);
    if (state === undefined) {
      state = new ResentState(target.start === 'beginning' ? '' : target.start.readTime);
      this.#resent.set(target.group, state);
    }
    state.begin();
  }

  #onCurrent(target: Target): void {
    target.isCurrent = true;
    for (const { path, at } of this.#resent.get(target.group)?.complete() ?? [])
      this.#handlers.onChange(deleteChange(this.#client.name(path), at));
  }

  #targetsOf(ids: readonly number[]): Target[] {
    if (ids.length === 0) return [...this.#targets.values()];
    return ids.map((id) => this.#targets.get(id)).filter((target) => target !== undefined);
  }
}

/** Status codes about the request itself, and not about its duration. */
const refusals: ReadonlySet<number> = new Set([
  grpcCode.INVALID_ARGUMENT,
  grpcCode.PERMISSION_DENIED,
  grpcCode.UNAUTHENTICATED,
  grpcCode.FAILED_PRECONDITION,
  grpcCode.OUT_OF_RANGE,
]);

function startFields(start: StartPoint): Record<string, unknown> {
  if (start === 'beginning') return {};
  const { readTime, resumeToken, expectedCount } = start;
  const from = resumeToken === undefined ? { readTime: timestampMessage(readTime) } : { resumeToken };
  // With the expected count, the server sends a bloom filter of the names if its own count differs.
  return expectedCount === undefined || expectedCount === 0
    ? from
    : { ...from, expectedCount: { value: expectedCount } };
}
