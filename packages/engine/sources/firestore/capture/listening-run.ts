/** One connection attempt: resumes, checks that nothing was withheld, then yields stretch after stretch. */

import { type CaptureGap, type ChangeBatch, type Instant, type ReadOptions, recordKind } from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import { mapLimited } from '../map-limited.ts';
import { countGroup } from '../scan/count.ts';
import { isInScope } from '../scan/scope.ts';
import { GrpcError } from '../transport/status.ts';
import type { CaptureParts } from './capture-parts.ts';
import { type Change, inCommitOrder, piecesOf } from './changes.ts';
import { changesOf, differenceOfGroup } from './group-scan.ts';
import type { NewGroup } from './groups.ts';
import { CatchUpNeeded, Listening, needsCatchUp } from './listening.ts';
import { historyOfNewGroups, type NewGroupHistory } from './new-group-history.ts';
import { findWithheldChanges, type ResumedGroup } from './resume-check.ts';
import { gapOfInterruption, gapOfNewGroups } from './stretch-gaps.ts';

/** This many full batches may wait for a snapshot; with more, a scan is better. */
const pendingFactor = 16;
/** Resuming from earlier would run, and bill, the whole query; a scan of names costs the same and is bounded. */
const resumeMsMax = 25 * minuteMs;
const unprovedRoundsMax = 10;
const settledMs = 5_000;
const countsAtOnce = 8;
const quietLookMsMax = 10 * minuteMs;
/** A batch is sent a little before it is full, so that the rest need not be in a batch of its own. */
const fullShare = 0.75;
/** While batches fill up, none is kept open longer: changes after the last full batch must not wait either. */
const busyIntervalMs = 2_000;

export interface RunLimits {
  readonly targetsPerStream: number;
  readonly askAfterMs: number;
  readonly dropped: Set<string>;
  /** When the previous streams were lost, by the process's clock; undefined when that is unknown. */
  readonly blindSinceMs: number | undefined;
}

export class ListeningRun {
  readonly #parts: CaptureParts;
  readonly #limits: RunLimits;
  readonly #listening: Listening;
  /** The streams are open, but may still break before they report anything. */
  isListening = false;
  /** Groups whose counts have to be checked at the next snapshot. */
  #unchecked: ResumedGroup[] = [];
  /** The current stretch began with an interruption at this instant. */
  #interruptedSince: Instant | undefined;
  /** How long nobody listened before the stretch. */
  #blindMs = Number.POSITIVE_INFINITY;
  /** Collections that appeared in the current stretch. Documents that came and went in them were not heard. */
  readonly #newGroups = new Set<string>();
  #closedMs = performance.now();
  #wasFull = false;
  /** True while the previous batch is being stored; new changes wait. */
  #isHandingOver = false;
  #changedSinceProof = true;
  #changedMs = performance.now();
  #lookedMs = performance.now();
  #provedThrough: Instant | undefined;
  #provesAgain = false;
  #unprovedRounds = 0;

  constructor(parts: CaptureParts, limits: RunLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#listening = new Listening(parts.source.client, this.#call, {
      pendingBytesMax: pendingFactor * parts.options.batchBytesMax,
      targetsPerStream: limits.targetsPerStream,
      askAfterMs: limits.askAfterMs,
      isHandingOver: () => this.#isHandingOver,
    });
    parts.options.ending?.addEventListener('abort', this.#wake);
  }

  /** Runs until a stream breaks, whose error it throws, or the end is requested. */
  async *batches(): AsyncGenerator<ChangeBatch, void> {
    const { options, covered, budget, source } = this.#parts;
    await budget.wait(options.signal);
    const readsBefore = source.usage.documentsRead;
    try {
      await this.#resume();
      this.isListening = true;
      await this.#firstSnapshot();
      if (this.#limits.blindSinceMs !== undefined) this.#blindMs = performance.now() - this.#limits.blindSinceMs;
    } finally {
      budget.note(source.usage.documentsRead - readsBefore);
    }
    for (;;) {
      const through = this.#listening.snapshotTime;
      if (through !== undefined && through > covered.through && (this.#isDue() || this.#isEnding)) {
        this.#isHandingOver = true;
        yield* this.#handOver(through);
        continue;
      }
      if (this.#isEnding) return;
      this.#isHandingOver = false;
      this.#listening.resume();
      const broken = await this.#brokenNews();
      if (broken === undefined) continue;
      yield* this.#handOverRest();
      throw broken.error;
    }
  }

  close(): void {
    this.#parts.options.ending?.removeEventListener('abort', this.#wake);
    this.#listening.close();
  }

  readonly #wake = () => this.#listening.wake();

  get #isEnding(): boolean {
    return this.#parts.options.ending?.aborted === true;
  }

  async #brokenNews(): Promise<{ error: unknown } | undefined> {
    try {
      await this.#news();
      return undefined;
    } catch (error) {
      if (!(error instanceof GrpcError) || needsCatchUp(error)) throw error;
      return { error };
    }
  }

  /** Yields what was heard before the streams broke, which is complete up to their last snapshot. */
  async *#handOverRest(): AsyncGenerator<ChangeBatch, void> {
    const through = this.#listening.snapshotTime;
    const isChecked = this.#unchecked.length === 0 && this.#interruptedSince === undefined;
    if (through === undefined || through <= this.#parts.covered.through || !isChecked) return;
    try {
      yield* this.#handOver(through);
    } catch {
      // The cause of the break prevents this too. The changes are sent again when the streams are back.
    }
  }

  get #call(): { signal?: AbortSignal } {
    const { signal } = this.#parts.options;
    return signal === undefined ? {} : { signal };
  }

  #reads(readTime: Instant): ReadOptions {
    return { readTime, ...this.#call };
  }

  async #firstSnapshot(): Promise<void> {
    while ((this.#listening.snapshotTime ?? '') <= this.#parts.covered.through && !this.#isEnding) await this.#news();
  }

  async #news(): Promise<void> {
    await this.#listening.wait(Math.max(1, this.#closedMs + this.#intervalMs - performance.now()));
  }

  get #intervalMs(): number {
    const { batchIntervalMs } = this.#parts.options;
    return this.#wasFull && this.#listening.pending.count > 0
      ? Math.min(batchIntervalMs, busyIntervalMs)
      : batchIntervalMs;
  }

  get #isFull(): boolean {
    const { batchBytesMax, batchChangesMax } = this.#parts.options;
    const { bytes, count } = this.#listening.pending;
    return bytes >= fullShare * batchBytesMax || count >= batchChangesMax;
  }

  #isDue(): boolean {
    if (this.#unchecked.length > 0 || this.#interruptedSince !== undefined) return true;
    return this.#isFull || performance.now() - this.#closedMs >= this.#intervalMs;
  }

  /** Every group continues where it was, or starts with everything it holds when it was found late. */
  async #resume(): Promise<void> {
    const { source, groups, covered } = this.#parts;
    const now = await source.snapshotTime(this.#call);
    const ageMs = Date.parse(now) - Date.parse(covered.through);
    if (ageMs > resumeMsMax) throw new CatchUpNeeded(`nothing was heard for ${Math.round(ageMs / minuteMs)} minutes`);
    // Deletions are reported at the next mark. A deletion before the end of the log that was to be reported later would
    // be lost.
    if (covered.isBetweenMarks)
      throw new CatchUpNeeded('what was heard before may not be written down as far as a mark');
    this.#interruptedSince = covered.through;
    const late = new Set(covered.lateGroups);
    const resumed = groups.ids.filter((id) => !late.has(id));
    const since = (id: string): Instant => (this.#limits.dropped.has(id) ? now : covered.through);
    const { client } = source;
    const counts = await mapLimited(resumed, countsAtOnce, (id) => countGroup(client, id, this.#reads(since(id))));
    for (const [index, group] of resumed.entries()) {
      const count = counts[index]!;
      if (this.#limits.dropped.has(group)) await this.#scanGroup(group, now);
      const token = since(group) === covered.through ? covered.resumeToken : undefined;
      const start = { readTime: since(group), resumeToken: token, expectedCount: count };
      await this.#listening.listenTo(group, start);
      this.#unchecked.push({ group, since: since(group), count });
    }
    for (const group of late) await this.#listening.listenTo(group, 'beginning');
  }

  /** For a group with which the server does not let us catch up: reads its names and listens only from now on. */
  async #scanGroup(group: string, now: Instant): Promise<void> {
    const { source, options, covered } = this.#parts;
    const { knownNames, scope } = options;
    if (knownNames === undefined) throw new CatchUpNeeded(`"${group}" was dropped before it had caught up`);
    const difference = await differenceOfGroup(source.client, {
      ...this.#reads(now),
      group,
      since: covered.through,
      known: knownNames(covered.through),
      heard: [],
      isInScope: (path) => isInScope(scope, path),
    });
    if (difference.isTooLarge) throw new CatchUpNeeded(`too much changed in "${group}"`);
    for (const change of difference.changes) this.#listening.pending.add(change);
  }

  async *#handOver(through: Instant): AsyncGenerator<ChangeBatch, void> {
    const { options, groups, covered } = this.#parts;
    const { pending } = this.#listening;
    const wasFull = this.#isFull;
    await this.#checkResumed(through);
    await this.#alignStreams(through);
    let changes = pending.peekThrough(through);
    this.#changedSinceProof ||= changes.length > 0;
    if (this.#isLookDue(changes.length > 0)) {
      const found = await groups.findNew(changes, covered.through, this.#reads(through));
      if (await this.#listenToNew(found)) return;
    }
    if (await this.#proveGroups(through)) return;
    const resumeToken = this.#listening.snapshotTime === through ? this.#listening.resumeToken : undefined;
    let gap = this.#gapBefore(through, changes.length > 0);
    const past = await this.#historyOfNewGroups(changes, through, gap !== undefined);
    const marks = [...past.marks, through];
    changes = inCommitOrder([...changes, ...past.changes]);
    pending.dropThrough(through);
    this.#closedMs = performance.now();
    this.#wasFull = wasFull;
    this.#interruptedSince = undefined;
    this.#newGroups.clear();
    this.#limits.dropped.clear();
    const pieces = piecesOf(changes, marks, { covered: covered.through, through, bytesMax: options.batchBytesMax });
    for (const [index, piece] of pieces.entries()) {
      const isLast = index === pieces.length - 1;
      yield covered.stretch(piece.changes, piece.through, marks, {
        gap,
        resumeToken: isLast ? resumeToken : undefined,
      });
      gap = undefined;
    }
    // Only now, because a group found late in this stretch was missed since the previous proof.
    if (this.#provedThrough !== undefined) covered.proved(this.#provedThrough);
  }

  #gapBefore(through: Instant, hasChanges: boolean): CaptureGap | undefined {
    const { options, covered } = this.#parts;
    const from = this.#interruptedSince;
    if (from !== undefined) return gapOfInterruption({ from, through }, hasChanges, this.#blindMs, options);
    return this.#newGroups.size === 0 ? undefined : gapOfNewGroups({ from: covered.through, through }, options);
  }

  /** Withheld changes were found as of `through`, so behind an interruption no earlier instant is exact. */
  async #historyOfNewGroups(heard: readonly Change[], through: Instant, isGap: boolean): Promise<NewGroupHistory> {
    const { source, covered } = this.#parts;
    const marks = this.#listening.takeMarks(through).filter((mark) => mark > covered.through && mark < through);
    if (isGap) return { changes: [], marks: [] };
    if (this.#newGroups.size === 0) return { changes: [], marks };
    const request = { groups: this.#newGroups, marks, heard, reads: this.#reads(through) };
    return await historyOfNewGroups(source.client, request);
  }

  /**
   * New collections are searched after every change, and less and less often while nothing changes: each search costs
   * reads.
   */
  #isLookDue(hasChanges: boolean): boolean {
    const now = performance.now();
    if (hasChanges) this.#changedMs = now;
    const quietMs = Math.min(
      quietLookMsMax,
      Math.max(this.#parts.options.batchIntervalMs, (now - this.#changedMs) / 2),
    );
    if (!hasChanges && now - this.#lookedMs < quietMs) return false;
    this.#lookedMs = now;
    return true;
  }

  async #checkResumed(through: Instant): Promise<void> {
    const { source, options, covered } = this.#parts;
    await this.#settleLateDeletes(through);
    const heard = this.#listening.pending.peekThrough(through);
    const unchecked = this.#unchecked;
    const kept = await mapLimited(unchecked, countsAtOnce, (resumed) =>
      findWithheldChanges(resumed, {
        client: source.client,
        heard: heard.filter(({ at }) => at > resumed.since),
        names: this.#listening.takeNamesOf(resumed.group),
        known: options.knownNames,
        covered: covered.through,
        isInScope: (path) => isInScope(options.scope, path),
        reads: this.#reads(through),
      }),
    );
    for (const change of kept.flat()) this.#listening.pending.add(change);
    this.#unchecked = this.#unchecked.filter((resumed) => !unchecked.includes(resumed));
  }

  /** A deletion may be reported with a time after the snapshot although it happened before; such documents are read. */
  async #settleLateDeletes(through: Instant): Promise<void> {
    if (this.#unchecked.length === 0) return;
    const { pending } = this.#listening;
    const deleted = pending.after(through).filter(({ kind }) => kind === recordKind.delete);
    if (deleted.length === 0) return;
    const paths = [...new Set(deleted.map(({ path }) => path))];
    const found = await changesOf(this.#parts.source.client, paths, this.#reads(through));
    for (const change of found) if (change.kind === recordKind.delete) pending.moveDelete(change);
  }

  /**
   * Several streams have snapshots at different times. A document of a faster stream may have changed before `through`
   * and again after it, and only the last change was received, so it is read as of `through`.
   */
  async #alignStreams(through: Instant): Promise<void> {
    if (this.#listening.streamCount < 2) return;
    const { source, covered } = this.#parts;
    const ahead = [...new Set(this.#listening.pending.after(through).map(({ path }) => path))];
    if (ahead.length === 0) return;
    const found = await changesOf(source.client, ahead, this.#reads(through));
    for (const change of found) if (change.at > covered.through) this.#listening.pending.add(change);
  }

  /** True when there are new groups; then the stretch stays open until they have caught up. */
  async #listenToNew(found: readonly NewGroup[]): Promise<boolean> {
    const { groups, covered } = this.#parts;
    covered.addGroups(groups, found);
    for (const { id, isLate } of found) {
      await this.#listening.listenTo(id, isLate ? 'beginning' : { readTime: covered.through });
      if (isLate) continue;
      this.#unchecked.push({ group: id, since: covered.through, count: 0 });
      this.#newGroups.add(id);
    }
    return found.length > 0;
  }

  /** True when unknown collections were found. */
  async #proveGroups(through: Instant): Promise<boolean> {
    const { groups, covered } = this.#parts;
    if (!this.#provesAgain && !groups.isProofDue(this.#changedSinceProof)) return false;
    this.#provesAgain = false;
    const reads = this.#reads(through);
    const isWhole = await groups.holdEverything(reads);
    if (isWhole === true) {
      this.#provedThrough = through;
      // A write to an unknown collection right after a change is found soon, and not only by the next rare proof.
      this.#changedSinceProof = performance.now() - this.#changedMs < settledMs;
      this.#unprovedRounds = 0;
      return false;
    }
    const found = [
      ...(await groups.findNew([], covered.through, reads)),
      ...(await groups.discover(covered.through, reads)),
    ];
    const unique = found.filter((group, index) => found.findIndex(({ id }) => id === group.id) === index);
    if (isWhole === false && unique.length === 0)
      throw new CatchUpNeeded('documents lie in collections that nobody knew of');
    const isOpen = await this.#listenToNew(unique);
    // If some collections were unknown there may be more, so the stretch ends with a proof, unless new ones keep
    // appearing.
    this.#unprovedRounds += isOpen ? 1 : 0;
    this.#provesAgain = isOpen && isWhole === false && this.#unprovedRounds < unprovedRoundsMax;
    return isOpen;
  }
}
