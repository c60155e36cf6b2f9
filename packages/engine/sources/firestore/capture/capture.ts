/** Follows a database by Listen, one target per collection group, and hands over what happened in joined stretches of time. */

import type { CaptureOptions, ChangeBatch, ChangeCapture, Instant, ReadOptions } from '../../../ports/index.ts';
import { sourceFailure } from '../failures.ts';
import { pause, throwIfAborted } from '../retry.ts';
import { isInScope } from '../scan/scope.ts';
import type { FirestoreSource } from '../source.ts';
import { catchUp } from './catch-up.ts';
import { type Change, encodeChanges, type Gap, piecesOf } from './changes.ts';
import { CollectionGroups, type NewGroup } from './groups.ts';
import { KnownPaths } from './known-paths.ts';
import { CatchUpNeeded, type StartPoint } from './listen-stream.ts';
import { Listening, needsCatchUp } from './listening.ts';

const batchIntervalMs = 10_000;
const batchBytesMax = 8 * 1024 * 1024;
const defaultDiscoveryIntervalMs = 10 * 60_000;
/** So many full batches may wait for a snapshot; a scan copes better with more than that. */
const pendingFactor = 16;
/** Catch-ups in a row without a snapshot in between: something else is wrong. */
const catchUpsMax = 3;

export interface CaptureSettings {
  /** How often documents all over the database are sampled for collections nobody knew of. */
  readonly discoveryIntervalMs?: number;
}

export class FirestoreCapture implements ChangeCapture {
  readonly #source: FirestoreSource;
  readonly #settings: CaptureSettings;

  constructor(source: FirestoreSource, settings: CaptureSettings = {}) {
    this.#source = source;
    this.#settings = settings;
  }

  capture(options: CaptureOptions): AsyncIterable<ChangeBatch> {
    return new CaptureRun(this.#source, this.#settings, options).run();
  }
}

class CaptureRun {
  readonly #source: FirestoreSource;
  readonly #options: CaptureOptions;
  readonly #groups: CollectionGroups;
  readonly #known: KnownPaths;
  readonly #intervalMs: number;
  readonly #bytesMax: number;
  #covered: Instant;
  /** Belongs to #covered. */
  #resumeToken: Buffer | undefined;
  /** The beginning of what this run has covered without a gap. */
  #unbrokenSince: Instant;
  #lateGroups: string[] = [];
  #catchUpsInARow = 0;

  constructor(source: FirestoreSource, settings: CaptureSettings, options: CaptureOptions) {
    this.#source = source;
    this.#options = options;
    const discoveryIntervalMs = settings.discoveryIntervalMs ?? defaultDiscoveryIntervalMs;
    this.#groups = new CollectionGroups(source.client, options.scope, discoveryIntervalMs);
    this.#known = new KnownPaths(options.knownNames);
    this.#intervalMs = options.batchIntervalMs ?? batchIntervalMs;
    this.#bytesMax = options.batchBytesMax ?? batchBytesMax;
    this.#covered = options.from;
    this.#unbrokenSince = options.from;
  }

  async *run(): AsyncGenerator<ChangeBatch, void> {
    const { signal } = this.#options;
    const retrier = this.#source.client.retrier(signal);
    let ready = false;
    for (;;) {
      try {
        throwIfAborted(signal);
        if (!ready)
          await this.#groups.initialise(this.#options, this.#reads(await this.#source.snapshotTime(this.#call)));
        ready = true;
        for await (const batch of this.#groups.ids.length === 0 ? this.#wait() : this.#listen()) {
          retrier.progress();
          yield batch;
        }
      } catch (error) {
        if (signal?.aborted) throwIfAborted(signal);
        if (needsCatchUp(error) && this.#catchUpsInARow < catchUpsMax) yield* this.#catchUp(reasonOf(error));
        else {
          await retrier.afterFailure(error).catch((final: unknown) => {
            throw sourceFailure(final);
          });
        }
      }
    }
  }

  get #call(): { signal?: AbortSignal } {
    return this.#options.signal === undefined ? {} : { signal: this.#options.signal };
  }

  #reads(readTime: Instant): ReadOptions {
    return { readTime, ...this.#call };
  }

  /** Nothing to listen to: time passes, and the first collection is waited for. */
  async *#wait(): AsyncGenerator<ChangeBatch, void> {
    while (this.#groups.ids.length === 0) {
      await pause(this.#intervalMs, this.#options.signal);
      const now = await this.#source.snapshotTime(this.#call);
      const found = await this.#groups.findNew([], this.#covered, this.#reads(now));
      this.#addGroups(found);
      if (found.length === 0 && now > this.#covered) yield this.#stretch([], now);
    }
  }

  /** Runs until a stream breaks, which it throws. */
  async *#listen(): AsyncGenerator<ChangeBatch, void> {
    const listening = new Listening(this.#source.client, this.#options, pendingFactor * this.#bytesMax);
    let closedMs = performance.now();
    try {
      const start: StartPoint = { readTime: this.#covered, resumeToken: this.#resumeToken };
      const late = new Set(this.#lateGroups);
      await listening.listenTo(
        this.#groups.ids.filter((id) => !late.has(id)),
        start,
      );
      await listening.listenTo([...late], 'beginning');
      for (;;) {
        await listening.wait(Math.max(1, closedMs + this.#intervalMs - performance.now()));
        if (listening.pending.bytes >= pendingFactor * this.#bytesMax) {
          throw new CatchUpNeeded('more changed than can be held until it is complete');
        }
        const through = listening.snapshotTime;
        if (through === undefined || through <= this.#covered) continue;
        const isDue = performance.now() - closedMs >= this.#intervalMs || listening.pending.bytes >= this.#bytesMax;
        if (!isDue) continue;
        await listening.checkAnnouncedCounts();
        const changes = listening.pending.peekThrough(through);
        if (await this.#listenToNewGroups(listening, changes, through)) continue;
        const resumeToken = listening.snapshotTime === through ? listening.resumeToken : undefined;
        listening.pending.dropThrough(through);
        this.#catchUpsInARow = 0;
        closedMs = performance.now();
        for (const piece of piecesOf(changes, this.#covered, through, this.#bytesMax)) {
          yield this.#stretch(piece.changes, piece.through);
        }
        this.#resumeToken = resumeToken;
      }
    } finally {
      listening.close();
    }
  }

  /** True when there are some: then the stretch stays open until they have caught up too. */
  async #listenToNewGroups(listening: Listening, changes: readonly Change[], through: Instant): Promise<boolean> {
    const found = await this.#groups.findNew(changes, this.#covered, this.#reads(through));
    this.#addGroups(found);
    for (const { id, isLate } of found) {
      await listening.listenTo([id], isLate ? 'beginning' : { readTime: this.#covered });
    }
    return found.length > 0;
  }

  /** In one step: a group that is listened to and not known as late would hide what was missed of it. */
  #addGroups(found: readonly NewGroup[]): void {
    for (const { id, isLate } of found) {
      this.#groups.add(id);
      if (isLate) this.#lateGroups.push(id);
      // The token at hand knows nothing of the new group.
      this.#resumeToken = undefined;
    }
  }

  #stretch(changes: readonly Change[], through: Instant): ChangeBatch {
    const own = changes.filter((change) => isInScope(this.#options.scope, change.path));
    for (const change of own) this.#known.note(change);
    const late = this.#lateGroups.splice(0);
    const reason = `Collections were found late: ${late.join(', ')}.`;
    const gap = late.length === 0 ? undefined : this.#lateGap(through, reason);
    const batch: ChangeBatch = {
      records: encodeChanges(own),
      coveredFrom: this.#covered,
      coveredThrough: through,
      ...(gap === undefined ? {} : { gap }),
    };
    this.#covered = through;
    this.#resumeToken = undefined;
    if (gap !== undefined) this.#unbrokenSince = through;
    return batch;
  }

  /** A collection the caller did not know at the start had no documents then that could have been deleted since. */
  #lateGap(through: Instant, reason: string): Gap {
    const { knownCollectionIds, knownNames } = this.#options;
    const knewAll = knownCollectionIds !== undefined || knownNames !== undefined;
    const gap = { from: this.#unbrokenSince, through, reason };
    return knewAll ? gap : { ...gap, deletionsUnknown: true };
  }

  #gap(from: Instant, through: Instant, reason: string): Gap {
    return { from, through, reason, ...(this.#known.isComplete ? {} : { deletionsUnknown: true as const }) };
  }

  /** Reads all names at one instant, hands over what differs, and says that the time in between cannot be reached. */
  async *#catchUp(reason: string): AsyncGenerator<ChangeBatch, void> {
    this.#catchUpsInARow += 1;
    const at = await this.#source.snapshotTime(this.#call);
    const { scope, signal } = this.#options;
    const onPath = (path: string): void => this.#groups.note(path);
    const known = () => this.#known.paths();
    // The first piece tells of the whole gap, so that none of it is believed if the catch-up dies half-way.
    let gap: Gap | undefined = this.#gap(this.#covered, at, reason);
    this.#lateGroups = [];
    for await (const piece of catchUp(this.#source, { scope, since: this.#covered, at, known, onPath, signal })) {
      if (piece.deletionsLost) gap = { ...this.#gap(this.#covered, at, reason), deletionsUnknown: true };
      const batch = this.#stretch(piece.changes, piece.through);
      yield gap === undefined ? batch : { ...batch, gap };
      gap = undefined;
    }
    this.#unbrokenSince = at;
  }
}

function reasonOf(error: unknown): string {
  return `Listening could not go on: ${error instanceof Error ? error.message : String(error)}.`;
}
