import { firestoreType } from '../protos.ts';
import { decodeAs } from '../rpc/decode-as.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { CommitListener, Database } from '../store/database.ts';
import type { DocumentEntry } from '../store/document.ts';
import type { Call } from '../transport/call.ts';
import type { BidiMethod, Conversation } from '../transport/dispatch.ts';
import { asRpcError, grpcCode, invalid, RpcError } from '../transport/status.ts';
import { pathFromKey } from '../values/key.ts';
import { parseDatabaseName } from '../values/name.ts';
import { type Micros, microsFrom } from '../values/timestamp.ts';
import type { ListenBehaviour } from './behaviour.ts';
import { bloomFilterOf } from './bloom-filter.ts';
import { decodeResumeToken } from './resume-token.ts';
import { type EventTargets, ListenSender } from './sender.ts';
import { type ListenTarget, planTarget, type TargetMessage } from './target.ts';

interface ListenRequest {
  database: string;
  targetChange?: 'addTarget' | 'removeTarget';
  addTarget?: TargetMessage;
  removeTarget?: number;
}

const requestType = firestoreType('ListenRequest');
const targetsMax = 100;
/** Commits that concern no target are sent as mere progress at most this often. */
const progressIntervalMs = 1000;

export function listenMethod(sandbox: Sandbox): BidiMethod {
  return { kind: 'bidi', open: (call) => new ListenConversation(sandbox, call) };
}

/**
 * One listen stream. Commits mark documents as changed; a flush sends the marked ones as one snapshot for all targets.
 * So quick successive writes of a document reach a slow listener as one change, as in production.
 */
class ListenConversation implements Conversation {
  readonly #sandbox: Sandbox;
  readonly #call: Call;
  #database: Database | null = null;
  readonly #targets = new Map<number, ListenTarget>();
  #dirty = new Set<DocumentEntry>();
  #flushQueued = false;
  #work: Promise<void> = Promise.resolve();
  #heartbeat: NodeJS.Timeout | null = null;
  #cut: NodeJS.Timeout | null = null;
  #progressAtMs = 0;
  readonly #behaviour: ListenBehaviour;
  readonly #sender: ListenSender;
  readonly #onCommit: CommitListener = (entries) => {
    for (const entry of entries) this.#dirty.add(entry);
    if (this.#dirty.size > this.#behaviour.bufferDocumentsMax) this.#overflow();
    this.#queueFlush();
  };
  readonly #onReset = (): void => {
    void this.#enqueue(async () => {
      for (const target of this.#targets.values()) await this.#restart(target);
      this.#sendSnapshotTime();
    });
  };

  constructor(sandbox: Sandbox, call: Call) {
    this.#sandbox = sandbox;
    this.#call = call;
    this.#behaviour = sandbox.listen;
    this.#sender = new ListenSender(sandbox, call);
  }

  async message(bytes: Buffer): Promise<void> {
    const request = decodeAs<ListenRequest>(requestType, bytes);
    this.#database ??= this.#open(request);
    if (request.targetChange === 'addTarget') await this.#enqueue(() => this.#add(request.addTarget!));
    else if (request.targetChange === 'removeTarget')
      await this.#enqueue(async () => this.#remove(request.removeTarget!));
  }

  end(): void {
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat);
    if (this.#cut !== null) clearTimeout(this.#cut);
    this.#database?.commitListeners.delete(this.#onCommit);
    this.#sandbox.listenResets.delete(this.#onReset);
    this.#targets.clear();
  }

  #open(request: ListenRequest): Database {
    const database = openDatabase(this.#sandbox, this.#call, parseDatabaseName(request.database), 'read');
    if (!database.edition.realtimeUpdates) {
      throw new RpcError('FAILED_PRECONDITION', 'Real-time updates are disabled for this database.');
    }
    database.commitListeners.add(this.#onCommit);
    this.#sandbox.listenResets.add(this.#onReset);
    this.#heartbeat = setInterval(() => this.#queueFlush(), this.#sandbox.listenHeartbeatMs);
    this.#heartbeat.unref();
    this.#cut = this.#cutLater();
    return database;
  }

  #cutLater(): NodeJS.Timeout | null {
    if (this.#behaviour.cutAfterMs === null) return null;
    const [least, most] = this.#behaviour.cutAfterMs;
    const timer = setTimeout(
      () => {
        this.end();
        this.#call.reset();
      },
      least + this.#sandbox.faults.random() * (most - least),
    );
    return timer.unref();
  }

  #overflow(): void {
    this.end();
    this.#call.fail(new RpcError('RESOURCE_EXHAUSTED', 'The listener does not keep up with its changes.'));
  }

  /** One thing at a time: a flush never runs into the middle of a target's first snapshot. */
  #enqueue(task: () => Promise<void>): Promise<void> {
    const run = this.#work.then(() => (this.#call.closed ? undefined : task()));
    this.#work = run.catch((error: unknown) => {
      this.end();
      this.#call.fail(error);
    });
    return this.#work;
  }

  #queueFlush(): void {
    if (this.#flushQueued) return;
    this.#flushQueued = true;
    setImmediate(() => {
      void this.#enqueue(() => this.#flush());
    });
  }

  async #add(message: TargetMessage): Promise<void> {
    message.targetId ||= this.#freeTargetId();
    const { targetId } = message;
    if (this.#targets.has(targetId)) throw invalid(`Target id ${targetId} is in use already.`);
    let target: ListenTarget;
    let since: Micros | null;
    try {
      if (this.#targets.size >= targetsMax) throw invalid(`A stream takes at most ${targetsMax} targets.`);
      target = planTarget(this.#database!, message);
      since = this.#startTime(message);
    } catch (error) {
      // A bad target ends alone; the stream and its other targets continue.
      const { code, message: reason } = asRpcError(error);
      this.#sender.removed(targetId, { code, message: reason });
      this.#sender.flush();
      return;
    }
    this.#targets.set(targetId, target);
    this.#sender.added(targetId);
    if (since === null) await this.#sendFirst(target);
    else if (this.#reaches(since)) await this.#resume(target, since, message.expectedCount?.value ?? null);
    else await this.#restart(target);
    if (!this.#targets.has(targetId)) return;
    if (this.#targets.size > 1) await this.#bringAllToOneTime();
    else this.#sendSnapshotTime();
    if (message.once) this.#remove(targetId);
  }

  /** When a target is added, the others are brought up to the same moment. */
  async #bringAllToOneTime(): Promise<void> {
    this.#progressAtMs = Number.NEGATIVE_INFINITY;
    await this.#flush();
  }

  #freeTargetId(): number {
    let id = 1;
    while (this.#targets.has(id)) id += 1;
    return id;
  }

  #startTime(message: TargetMessage): Micros | null {
    if (message.resumeType === 'readTime') {
      const time = microsFrom(message.readTime!);
      if (this.#behaviour.mode === 'as-production') return this.#database!.checkReadTime(time);
      if (time > this.#database!.currentTime()) throw invalid('read_time cannot be in the future.');
      return time;
    }
    const token = message.resumeType === 'resumeToken' ? message.resumeToken! : null;
    return token === null || token.length === 0 ? null : decodeResumeToken(token);
  }

  #reaches(time: Micros): boolean {
    try {
      this.#database!.checkStillReadable(time);
      return true;
    } catch {
      return false;
    }
  }

  #remove(targetId: number): void {
    if (!this.#targets.delete(targetId)) throw invalid(`Target id ${targetId} is not in use.`);
    this.#sender.removed(targetId);
    this.#sender.flush();
  }

  /** Makes the listener forget a target's documents, and sends them all again. */
  async #restart(target: ListenTarget): Promise<void> {
    this.#sender.reset(target.id);
    await this.#sendFirst(target);
  }

  async #sendFirst(target: ListenTarget): Promise<void> {
    const time = this.#database!.currentTime();
    const catchUp = new CatchUp(this.#behaviour);
    for (const { version } of target.members(time)) {
      if (catchUp.isTooLong()) return this.#giveUp(target, catchUp.documents);
      await this.#sender.member(target.id, version);
      if (this.#sender.closed) return;
    }
    for (const name of target.missing(time)) this.#sender.missing(target.id, name, time);
    this.#sandbox.counters.billReads(Math.max(1, catchUp.documents));
    this.#becomeCurrent(target, time);
  }

  /** Sends what has happened to a target since the listener's last position. */
  async #resume(target: ListenTarget, since: Micros, expectedCount: number | null): Promise<void> {
    const database = this.#database!;
    const time = database.currentTime();
    if (this.#behaviour.mode === 'as-production') return this.#resumeAsProduction(target, since, expectedCount);
    target.readTime = since;
    await this.#sendEvents(new Map([[target, target.events(allEntries(database), time)]]), time);
    if (expectedCount !== null && expectedCount !== [...target.members(since)].length) {
      this.#sender.filter(target.id, [...target.members(time)].length);
    }
    this.#becomeCurrent(target, time);
  }

  /** What changed, and a count in place of what was deleted. A stale position runs the whole query again. */
  async #resumeAsProduction(target: ListenTarget, since: Micros, expectedCount: number | null): Promise<void> {
    const database = this.#database!;
    const time = database.currentTime();
    target.readTime = since;
    const isStale = time - since > this.#behaviour.staleAfterMs * 1000;
    const catchUp = new CatchUp(this.#behaviour);
    let removed = 0;
    if (isStale) {
      for (const { version } of target.members(time)) {
        if (catchUp.isTooLong()) return this.#giveUp(target, catchUp.documents);
        await this.#sender.member(target.id, version);
        if (this.#sender.closed) return;
      }
    } else {
      for (const [entry, kind] of target.events(allEntries(database), time)) {
        if (kind === 'removed') {
          removed += 1;
          continue;
        }
        if (catchUp.isTooLong()) return this.#giveUp(target, catchUp.documents);
        await this.#sender.event(database.documentsRoot, entry, { changed: [target.id], removed: [] }, time);
        if (this.#sender.closed) return;
      }
    }
    this.#sandbox.counters.billReads(catchUp.documents);
    if (isStale || removed > 0) this.#sendFilter(target, time, expectedCount);
    this.#becomeCurrent(target, time);
  }

  #sendFilter(target: ListenTarget, time: Micros, expectedCount: number | null): void {
    const { existenceFilters } = this.#behaviour;
    if (existenceFilters === 'none') return;
    const root = this.#database!.documentsRoot;
    const names = [...target.members(time)].map(({ entry }) => `${root}/${pathFromKey(entry.key)}`);
    const withBloom = existenceFilters === 'bloom' && (expectedCount ?? 0) > 0;
    this.#sender.filter(target.id, names.length, withBloom ? bloomFilterOf(names) : undefined);
  }

  /** A target that takes too long is dropped; the documents already sent are billed all the same. */
  #giveUp(target: ListenTarget, sent: number): void {
    this.#sandbox.counters.billReads(Math.max(1, sent));
    this.#targets.delete(target.id);
    const message = 'The target did not catch up in time.';
    this.#sender.removed(target.id, { code: grpcCode.DEADLINE_EXCEEDED, message });
    this.#sender.flush();
  }

  #becomeCurrent(target: ListenTarget, time: Micros): void {
    target.readTime = time;
    target.current = true;
    this.#sender.current(target.id, time);
  }

  async #flush(): Promise<void> {
    this.#flushQueued = false;
    await this.#sender.ready();
    const dirty = this.#dirty;
    this.#dirty = new Set();
    const time = this.#database!.currentTime();
    const events = new Map<ListenTarget, Map<DocumentEntry, 'changed' | 'removed'>>();
    for (const target of this.#targets.values()) events.set(target, target.events(dirty, time));
    await this.#sendEvents(events, time);
    for (const target of this.#targets.values()) target.readTime = time;
    const touched = [...events.values()].some((changes) => changes.size > 0);
    const progressMs = Math.min(progressIntervalMs, this.#sandbox.listenHeartbeatMs);
    if (touched || performance.now() - this.#progressAtMs >= progressMs) this.#sendSnapshotTime(time);
  }

  /** Sends each document once, with all the targets it entered, changed in or left. */
  async #sendEvents(
    events: ReadonlyMap<ListenTarget, ReadonlyMap<DocumentEntry, 'changed' | 'removed'>>,
    time: Micros,
  ): Promise<void> {
    const byEntry = new Map<DocumentEntry, EventTargets>();
    for (const [target, changes] of events) {
      for (const [entry, kind] of changes) {
        const ids = byEntry.get(entry) ?? { changed: [], removed: [] };
        ids[kind].push(target.id);
        byEntry.set(entry, ids);
      }
    }
    for (const [entry, ids] of byEntry) {
      await this.#sender.event(this.#database!.documentsRoot, entry, ids, time);
      if (this.#sender.closed) return;
    }
    this.#sandbox.counters.billReads(byEntry.size);
  }

  #sendSnapshotTime(time: Micros = this.#lowestReadTime()): void {
    this.#progressAtMs = performance.now();
    const allCurrent = [...this.#targets.values()].every((target) => target.current);
    if (allCurrent && this.#targets.size > 0) this.#sender.snapshot(time);
    this.#sender.flush();
  }

  #lowestReadTime(): Micros {
    return Math.min(...[...this.#targets.values()].map((target) => target.readTime ?? 0));
  }
}

/** Counts what is sent of a target before it is current, and for how long. */
class CatchUp {
  readonly #behaviour: ListenBehaviour;
  readonly #beganMs = performance.now();
  documents = 0;

  constructor(behaviour: ListenBehaviour) {
    this.#behaviour = behaviour;
  }

  /** Called before each document. */
  isTooLong(): boolean {
    const { catchUpDocumentsMax, catchUpMsMax } = this.#behaviour;
    if (this.documents >= catchUpDocumentsMax || performance.now() - this.#beganMs > catchUpMsMax) return true;
    this.documents += 1;
    return false;
  }
}

function* allEntries(database: Database): Generator<DocumentEntry, void, undefined> {
  const cursor = database.all.cursor('', null);
  for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) yield entry;
}
