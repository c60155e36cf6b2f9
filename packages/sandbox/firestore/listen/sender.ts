import type { StreamFault } from '../faults/faults.ts';
import { encodeMessage, firestoreType } from '../protos.ts';
import type { Sandbox } from '../sandbox.ts';
import { type DocumentEntry, type Version, versionAt, versionBytes } from '../store/document.ts';
import type { Call } from '../transport/call.ts';
import { pathFromKey } from '../values/key.ts';
import { type Micros, timestampFrom } from '../values/timestamp.ts';
import type { BloomFilterMessage } from './bloom-filter.ts';
import { encodeResumeToken } from './resume-token.ts';

const responseType = firestoreType('ListenResponse');
const change = { NO_CHANGE: 0, ADD: 1, REMOVE: 2, CURRENT: 3, RESET: 4 } as const;

/** The targets a document entered or changed in, and those it left. */
export interface EventTargets {
  readonly changed: number[];
  readonly removed: number[];
}

/** Sends the responses of a listener one by one, no faster than it reads. */
export class ListenSender {
  readonly #call: Call;
  readonly #fault: StreamFault | null;
  #documentsSent = 0;

  constructor(sandbox: Sandbox, call: Call) {
    this.#call = call;
    this.#fault = sandbox.faults.streamFault(call);
  }

  get closed(): boolean {
    return this.#call.closed;
  }

  ready(): Promise<void> {
    return this.#call.out.ready();
  }

  flush(): void {
    this.#call.out.flush();
  }

  added(targetId: number): void {
    this.#change(change.ADD, [targetId]);
  }

  removed(targetId: number, cause?: { code: number; message: string }): void {
    this.#change(change.REMOVE, [targetId], cause === undefined ? {} : { cause });
  }

  reset(targetId: number): void {
    this.#change(change.RESET, [targetId]);
  }

  current(targetId: number, time: Micros): void {
    this.#change(change.CURRENT, [targetId], snapshotOf(time));
  }

  /** A change without targets is a promise about all of them: everything up to this time has been sent. */
  snapshot(time: Micros): void {
    this.#change(change.NO_CHANGE, [], snapshotOf(time));
  }

  filter(targetId: number, count: number, unchangedNames?: BloomFilterMessage): void {
    this.#send({ filter: { targetId, count, ...(unchangedNames === undefined ? {} : { unchangedNames }) } });
  }

  missing(targetId: number, document: string, time: Micros): void {
    this.#send({ documentDelete: { document, removedTargetIds: [targetId], readTime: timestampFrom(time) } });
  }

  async member(targetId: number, version: Version): Promise<void> {
    this.#send({ documentChange: { document: versionBytes(version), targetIds: [targetId] } });
    await this.#countDocument();
  }

  async event(documentsRoot: string, entry: DocumentEntry, targets: EventTargets, time: Micros): Promise<void> {
    const version = versionAt(entry, time);
    const gone = {
      document: `${documentsRoot}/${pathFromKey(entry.key)}`,
      removedTargetIds: targets.removed,
      readTime: timestampFrom(time),
    };
    if (version === null) this.#send({ documentDelete: gone });
    else if (targets.changed.length === 0) this.#send({ documentRemove: gone });
    else {
      const { changed: targetIds, removed: removedTargetIds } = targets;
      this.#send({ documentChange: { document: versionBytes(version), targetIds, removedTargetIds } });
    }
    await this.#countDocument();
  }

  async #countDocument(): Promise<void> {
    this.#documentsSent += 1;
    if (this.#fault !== null) {
      if (this.#documentsSent >= this.#fault.documentsMax) this.#fault.strike(this.#call);
      await this.#fault.delay();
    }
    if (this.#call.out.congested) await this.#call.out.ready();
  }

  #change(targetChangeType: number, targetIds: readonly number[], more: object = {}): void {
    this.#send({ targetChange: { targetChangeType, targetIds, ...more } });
  }

  #send(response: object): void {
    this.#call.out.send(encodeMessage(responseType, response));
  }
}

function snapshotOf(time: Micros): object {
  return { readTime: timestampFrom(time), resumeToken: encodeResumeToken(time) };
}
