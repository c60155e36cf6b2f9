/**
 * One Listen stream with up to a hundred collection groups on it. Tells of changes as they come and of each instant at
 * which all its groups are known to be complete.
 */

import { type Instant, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { messages, methods } from '../protos.ts';
import { timestampMessage } from '../scan/query.ts';
import type { GrpcCall } from '../transport/call.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { type Change, deleteChange, putChange } from './changes.ts';
import { type ListenEvent, readListenEvent } from './listen-response.ts';

const targetsPerStream = 100;
/** Servers send at least a heartbeat a minute; twice that in silence is a dead stream. */
const idleTimeoutMs = 150_000;

/** The state since the starting point cannot be told apart by this stream any more: a scan must close the gap. */
export class CatchUpNeeded extends Error {}

export interface ListenHandlers {
  readonly onChange: (change: Change) => void;
  readonly onSnapshot: (stream: ListenStream) => void;
  readonly onEnd: (error: unknown) => void;
}

/** Where a group's listening starts: behind an instant (with the token for it, if any), or with all the group holds. */
export type StartPoint = { readonly readTime: Instant; readonly resumeToken?: Buffer | undefined } | 'beginning';

interface Target {
  readonly group: string;
  start: StartPoint;
  isCurrent: boolean;
  /** By how much each document heard of since the start changed the number of documents: -1, 0 or 1. */
  readonly heard: Map<string, number>;
  announcedCount: number | undefined;
}

/** A server's count of a group, and the count that follows from what was heard since an instant. */
export interface AnnouncedCount {
  readonly group: string;
  readonly since: Instant;
  readonly count: number;
  readonly heardDifference: number;
}

export class ListenStream {
  readonly #client: FirestoreClient;
  readonly #handlers: ListenHandlers;
  readonly #targets = new Map<number, Target>();
  #call: GrpcCall | undefined;
  #nextTargetId = 1;
  #snapshotTime: Instant | undefined;
  #resumeToken: Buffer | undefined;

  constructor(client: FirestoreClient, handlers: ListenHandlers) {
    this.#client = client;
    this.#handlers = handlers;
  }

  get snapshotTime(): Instant | undefined {
    return this.#snapshotTime;
  }

  /** Belongs to snapshotTime. */
  get resumeToken(): Buffer | undefined {
    return this.#resumeToken;
  }

  get hasRoom(): boolean {
    return this.#targets.size < targetsPerStream;
  }

  async open(signal: AbortSignal): Promise<void> {
    const handlers = {
      onMessage: (bytes: Buffer, start: number, end: number) => {
        this.#client.usage.bytesReceived += end - start;
        const event = readListenEvent(bytes, start, end);
        if (event !== undefined) this.#onEvent(event);
      },
      onEnd: (error: GrpcError | undefined) =>
        this.#handlers.onEnd(error ?? new GrpcError(grpcCode.UNAVAILABLE, 'the server ended the stream')),
    };
    const limits = { idleTimeoutMs: idleTimeoutMs, signal };
    this.#call = await this.#client.channel.open(methods.listen, this.#client.routing('database'), handlers, limits);
  }

  /** Snapshots pause until the new group has caught up too. */
  addGroup(group: string, start: StartPoint): void {
    const targetId = this.#nextTargetId++;
    this.#targets.set(targetId, { group, start, isCurrent: false, heard: new Map(), announcedCount: undefined });
    this.#snapshotTime = undefined;
    const request = messages.listenRequest.encode({
      database: this.#client.database,
      addTarget: {
        query: {
          parent: this.#client.root,
          structuredQuery: { from: [{ collectionId: group, allDescendants: true }] },
        },
        targetId,
        ...startFields(start),
      },
    });
    this.#call!.send(request);
  }

  /** Counts the server sent along when listening resumed, to be checked before the snapshot is believed. */
  takeAnnouncedCounts(): AnnouncedCount[] {
    const announced: AnnouncedCount[] = [];
    for (const target of this.#targets.values()) {
      const { group, start, announcedCount: count, heard } = target;
      if (count !== undefined && start !== 'beginning') {
        const heardDifference = [...heard.values()].reduce((sum, difference) => sum + difference, 0);
        announced.push({ group, since: start.readTime, count, heardDifference });
      }
      target.announcedCount = undefined;
      target.start = { readTime: this.#snapshotTime! };
      heard.clear();
    }
    return announced;
  }

  close(): void {
    this.#call?.cancel();
  }

  #onEvent(event: ListenEvent): void {
    if (event.kind === 'put') this.#onChange(putChange(event.body));
    else if (event.kind === 'gone') this.#onChange(deleteChange(event.name, event.at));
    else if (event.kind === 'filter') {
      const target = this.#targets.get(event.targetId);
      if (target !== undefined) target.announcedCount = event.count;
    } else this.#onTargetChange(event);
  }

  #onChange(change: Change): void {
    this.#client.usage.documentsRead += 1;
    const group = groupOf(change.path);
    for (const target of this.#targets.values()) if (target.group === group) noteDifference(target, change);
    this.#handlers.onChange(change);
  }

  #onTargetChange(event: ListenEvent & { kind: 'target' }): void {
    const { change, cause, targetIds, readTime } = event;
    if (change === 'REMOVE')
      throw new GrpcError(cause?.code ?? grpcCode.UNAVAILABLE, cause?.message ?? 'target removed');
    if (change === 'RESET' && this.#resets(targetIds))
      throw new GrpcError(grpcCode.OUT_OF_RANGE, 'the target was reset');
    if (change === 'CURRENT') {
      for (const id of targetIds) {
        const target = this.#targets.get(id);
        if (target !== undefined) target.isCurrent = true;
      }
      return;
    }
    const isSnapshot = change === 'NO_CHANGE' && targetIds.length === 0 && readTime !== undefined;
    if (!isSnapshot || ![...this.#targets.values()].every((target) => target.isCurrent)) return;
    this.#snapshotTime = readTime;
    this.#resumeToken = event.resumeToken;
    this.#handlers.onSnapshot(this);
  }

  /** A reset of a group that started at its beginning loses nothing: all of it is sent again. */
  #resets(targetIds: readonly number[]): boolean {
    const ids = targetIds.length === 0 ? [...this.#targets.keys()] : targetIds;
    return ids.some((id) => this.#targets.get(id)?.start !== 'beginning');
  }
}

function startFields(start: StartPoint): Record<string, unknown> {
  if (start === 'beginning') return {};
  const { readTime, resumeToken } = start;
  return resumeToken === undefined ? { readTime: timestampMessage(readTime) } : { resumeToken };
}

function noteDifference({ heard, start }: Target, change: Change): void {
  const before = heard.get(change.path);
  const isNew = start === 'beginning' || change.createdAt > start.readTime;
  if (change.kind === recordKind.put)
    heard.set(change.path, before === undefined ? Number(isNew) : Math.max(0, before));
  else heard.set(change.path, before === 1 ? 0 : -1);
}

/** `users/ada/orders/7` belongs to the group `orders`. */
function groupOf(path: string): string {
  const last = path.lastIndexOf('/');
  return path.slice(path.lastIndexOf('/', last - 1) + 1, last);
}
