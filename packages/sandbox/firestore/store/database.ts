import { invalid, RpcError } from '../transport/status.ts';
import { groupOfKey } from '../values/key.ts';
import { type DatabaseName, documentsRoot } from '../values/name.ts';
import { day, hour, type Micros, minuteMicros } from '../values/timestamp.ts';
import type { Clock } from './clock.ts';
import { type DocumentEntry, SlabAllocator, tombstone, type Version, versionAt } from './document.ts';
import { SortedList } from './sorted-list.ts';
import { Transactions } from './transactions.ts';

/** Old versions dropped per commit at most, so that no single commit pays for a backlog. */
const collectPerCommitMax = 4096;

export type CommitListener = (entries: readonly DocumentEntry[], time: Micros) => void;

/** Enterprise databases may have been made without real-time updates, for good. */
export interface DatabaseEdition {
  readonly edition: 'standard' | 'enterprise';
  readonly realtimeUpdates: boolean;
}

interface Superseded {
  readonly time: Micros;
  readonly entry: DocumentEntry;
}

/** One Firestore database: every document with its versions, in name order, as a whole and per collection group. */
export class Database {
  readonly name: DatabaseName;
  readonly documentsRoot: string;
  readonly all = new SortedList<DocumentEntry>();
  readonly createTime: Micros;
  readonly transactions = new Transactions(this);
  readonly commitListeners = new Set<CommitListener>();
  /** Fields without an index, which may therefore hold more than the indexes allow. */
  readonly unindexedFields = new Set<string>();
  edition: DatabaseEdition = { edition: 'standard', realtimeUpdates: true };
  readonly #clock: Clock;
  readonly #entries = new Map<string, DocumentEntry>();
  readonly #groups = new Map<string, SortedList<DocumentEntry>>();
  readonly #allocator = new SlabAllocator();
  #superseded: Superseded[] = [];
  #supersededHead = 0;
  #lastTime: Micros = 0;
  #lastChangeTime: Micros = 0;
  /** Documents that are listed only because of their history. */
  #deleted = 0;
  #clockOffset: Micros = 0;
  #recoveryEnabledAt: Micros | null = null;

  constructor(name: DatabaseName, clock: Clock) {
    this.name = name;
    this.documentsRoot = documentsRoot(name);
    this.#clock = clock;
    this.createTime = this.now();
  }

  now(): Micros {
    return Math.floor(this.#clock.nowMicros()) + this.#clockOffset;
  }

  moveClock(byMicros: Micros): void {
    this.#clockOffset += byMicros;
  }

  get pointInTimeRecovery(): boolean {
    return this.#recoveryEnabledAt !== null;
  }

  setPointInTimeRecovery(enabled: boolean): void {
    if (!enabled) this.#recoveryEnabledAt = null;
    else this.#recoveryEnabledAt ??= this.now();
  }

  /** The oldest time that can still be read: an hour ago, or seven days once recovery has been on for that long. */
  earliestVersionTime(): Micros {
    const now = this.now();
    if (this.#recoveryEnabledAt === null) return Math.max(this.createTime, now - hour);
    return Math.max(this.createTime, now - 7 * day, Math.min(this.#recoveryEnabledAt, now) - hour);
  }

  /** A time at which everything committed so far is visible, and nothing later ever will be. */
  currentTime(): Micros {
    this.#lastTime = Math.max(this.now(), this.#lastTime);
    return this.#lastTime;
  }

  nextCommitTime(): Micros {
    this.#lastTime = Math.max(this.now(), this.#lastTime + 1);
    return this.#lastTime;
  }

  checkReadTime(time: Micros): Micros {
    const now = this.currentTime();
    if (time > now) throw invalid('read_time cannot be in the future.');
    if (time < now - hour && this.pointInTimeRecovery && time % minuteMicros !== 0) {
      throw invalid('read_time older than one hour must be a whole minute.');
    }
    this.checkStillReadable(time);
    return time;
  }

  /** A scan that outlives the window fails in its middle, as in production. */
  checkStillReadable(time: Micros): void {
    if (time >= this.earliestVersionTime()) return;
    // A database younger than the window was simply empty before it was created.
    if (time < this.createTime && time >= this.now() - hour) return;
    throw new RpcError('FAILED_PRECONDITION', 'The requested snapshot version is too old.');
  }

  entry(key: string): DocumentEntry | undefined {
    return this.#entries.get(key);
  }

  read(key: string, time: Micros): Version | null {
    const entry = this.#entries.get(key);
    return entry === undefined ? null : versionAt(entry, time);
  }

  /** True when exactly the listed documents existed at `time`, so a count need not read their versions. */
  isUnchangedSince(time: Micros): boolean {
    return this.#lastChangeTime <= time && this.#deleted === 0;
  }

  group(collectionKey: string): SortedList<DocumentEntry> | undefined {
    return this.#groups.get(collectionKey);
  }

  /** Puts a new version of a document. */
  put(key: string, name: Uint8Array, fields: Uint8Array, createTime: Micros, time: Micros): DocumentEntry {
    const entry = this.#entries.get(key) ?? this.#list({ key, newest: null });
    const previous = entry.newest;
    entry.newest = this.#allocator.store(name, fields, createTime, time, previous);
    this.#lastChangeTime = time;
    if (previous?.length === 0) this.#deleted -= 1;
    if (previous !== null) this.#superseded.push({ time, entry });
    return entry;
  }

  remove(key: string, time: Micros): DocumentEntry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.newest === null || entry.newest.length === 0) return undefined;
    entry.newest = tombstone(time, entry.newest);
    this.#lastChangeTime = time;
    this.#deleted += 1;
    this.#superseded.push({ time, entry });
    return entry;
  }

  /** Ends a commit: informs listeners, and drops versions that nobody can read any more. */
  committed(entries: readonly DocumentEntry[], time: Micros): void {
    this.collect();
    if (entries.length === 0) return;
    for (const listener of this.commitListeners) listener(entries, time);
  }

  /** Forgets everything, history too. */
  clear(): void {
    const time = this.nextCommitTime();
    const gone = [...this.#entries.values()].filter((entry) => entry.newest !== null && entry.newest.length > 0);
    for (const entry of gone) entry.newest = tombstone(time, entry.newest);
    this.committed(gone, time);
    for (const entry of this.#entries.values()) this.#unlist(entry);
    this.#deleted = 0;
    this.#superseded = [];
    this.#supersededHead = 0;
  }

  get documentCount(): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.newest !== null && entry.newest.length > 0) count += 1;
    return count;
  }

  /** Versions held, for tests of retention. */
  get versionCount(): number {
    let count = 0;
    for (const entry of this.#entries.values()) for (let at = entry.newest; at !== null; at = at.previous) count += 1;
    return count;
  }

  collect(itemsMax = collectPerCommitMax): void {
    const horizon = this.earliestVersionTime();
    for (let count = 0; count < itemsMax; count++) {
      const item = this.#superseded[this.#supersededHead];
      if (item === undefined || item.time > horizon) break;
      this.#supersededHead += 1;
      this.#trim(item.entry, horizon);
    }
    if (this.#supersededHead > 65_536 && this.#supersededHead * 2 > this.#superseded.length) {
      this.#superseded = this.#superseded.slice(this.#supersededHead);
      this.#supersededHead = 0;
    }
  }

  #trim(entry: DocumentEntry, horizon: Micros): void {
    let version = entry.newest;
    while (version !== null && version.updateTime > horizon) version = version.previous;
    if (version !== null) version.previous = null;
    if (version !== null && version === entry.newest && version.length === 0) this.#unlist(entry);
  }

  #list(entry: DocumentEntry): DocumentEntry {
    this.#entries.set(entry.key, entry);
    this.all.insert(entry);
    const group = groupOfKey(entry.key);
    let list = this.#groups.get(group);
    if (list === undefined) {
      list = new SortedList();
      this.#groups.set(group, list);
    }
    list.insert(entry);
    return entry;
  }

  #unlist(entry: DocumentEntry): void {
    // Several of its versions may be due, and the name may belong to a new document since.
    if (this.#entries.get(entry.key) !== entry) return;
    this.#entries.delete(entry.key);
    if (entry.newest?.length === 0) this.#deleted -= 1;
    this.all.delete(entry.key);
    const group = groupOfKey(entry.key);
    const list = this.#groups.get(group);
    list?.delete(entry.key);
    if (list?.size === 0) this.#groups.delete(group);
  }
}
