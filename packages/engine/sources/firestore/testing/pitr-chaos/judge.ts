/** Whether what was captured is the database: at random instants, at the end, and after losses that were planted. */

import type { Random } from '../../../../../sandbox/firestore/faults/random.ts';
import { contentsOf } from '../../../../fixtures/backup-harness.ts';
import {
  assertReachable,
  coverageOf,
  type LogCoverage,
  logContinuesFrom,
  marksAround,
} from '../../../../pipeline/log/log-coverage.ts';
import { reconcile } from '../../../../pipeline/log/reconcile.ts';
import { type EngineError, type Instant, wholeDatabase } from '../../../../ports/index.ts';
import type { CapturedDatabase } from './capture-life.ts';
import type { Version } from './world.ts';

export interface Verdict {
  readonly gaps: number;
  readonly compared: number;
  readonly insideGaps: number;
  /** Documents of compared instants that were changed more than once between two marks. */
  readonly coalesced: number;
  /** What a comparison with the database at the end of the log found. */
  readonly differencesAtEnd: number;
  /** Segments that were taken away, and documents that differed for it. */
  readonly planted: number;
  readonly lost: number;
  /** Sentences about what differs and must not. */
  readonly wrong: readonly string[];
}

export interface JudgeOptions {
  readonly instants: number;
  readonly losses: number;
  /** Whether the history has the very moment of a delete, and not one a little later. */
  readonly knowsDeletes: boolean;
  readonly random: Random;
  readonly log: (line: string) => void;
}

/** Instants inside gaps are looked at beside those that are compared. */
const triesPerInstant = 20;
const basesAtMarks = 10;

export class Judge {
  readonly #captured: CapturedDatabase;
  readonly #history: ReadonlyMap<string, readonly Version[]>;
  readonly #options: JudgeOptions;
  readonly #coverage: LogCoverage;
  readonly #wrong: string[] = [];
  #coalesced = 0;

  constructor(captured: CapturedDatabase, history: ReadonlyMap<string, readonly Version[]>, options: JudgeOptions) {
    this.#captured = captured;
    this.#history = history;
    this.#options = options;
    this.#coverage = coverageOf(captured.stretches);
  }

  async verdict(): Promise<Verdict> {
    const { instants, losses, random, log } = this.#options;
    const gaps = this.#coverage.gaps.filter(({ isBrief }) => !isBrief);
    const { from, covered } = this.#captured;
    const commits = [...this.#history.values()].flat().map(({ at }) => at);
    const reachable = commits.filter((at) => at >= from && at <= covered).sort();
    let compared = 0;
    let insideGaps = 0;
    while (compared < instants && compared + insideGaps < instants * triesPerInstant) {
      const instant = random.pick(reachable);
      if (gaps.some((gap) => gap.from < instant && instant < gap.through)) {
        this.#requireRefusal(instant);
        insideGaps += 1;
        continue;
      }
      await this.#compare(instant);
      compared += 1;
      if (compared % 50 === 0) log(`${compared} instants, ${this.#wrong.length} wrong`);
    }
    const marks = this.#coverage.stretches.flatMap((stretch) => stretch.marks);
    const firm = marks.filter((mark) => mark > from && logContinuesFrom(mark, this.#coverage));
    for (let count = 0; count < basesAtMarks && firm.length > 0; count += 1) await this.#leadOn(random.pick(firm));
    let lost = 0;
    for (let count = 0; count < losses; count += 1) lost += await this.#plantLoss(random.pick(this.#captured.keys));
    const differencesAtEnd = (await this.#reconcile(this.#captured.keys)).differences;
    const told = { coalesced: this.#coalesced, differencesAtEnd, planted: losses, lost, wrong: this.#wrong };
    return { gaps: gaps.length, compared, insideGaps, ...told };
  }

  /** With both neighbours, which can be reached. */
  #requireRefusal(instant: Instant): void {
    const base = { snapshotTime: this.#captured.from, ranges: [] };
    try {
      assertReachable(instant, base, this.#coverage);
      this.#wrong.push(`${instant} lies in a gap and was not refused`);
    } catch (error) {
      const { before, after } = (error as EngineError).details as { before: Instant; after: Instant };
      for (const neighbour of [before, after]) assertReachable(neighbour, base, this.#coverage);
    }
  }

  /** From the database as it was at any mark the log leads to what it was at the end. */
  async #leadOn(mark: Instant): Promise<void> {
    const { covered } = this.#captured;
    const changes = await this.#captured.changesSince(mark);
    for (const path of new Set([...this.#history.keys(), ...changes.keys()])) {
      const next = this.#history.get(path)?.find(({ at }) => at > mark);
      if (next?.hex === null && !this.#options.knowsDeletes) continue;
      const reached = changes.has(path) ? changes.get(path) : this.#truthAt(path, mark);
      if (reached !== this.#truthAt(path, covered)) this.#wrong.push(`${path} at the end, from a base at ${mark}`);
    }
  }

  #truthAt(path: string, instant: Instant): string | null {
    return this.#history.get(path)?.findLast(({ at }) => at <= instant)?.hex ?? null;
  }

  async #compare(instant: Instant): Promise<void> {
    const { from, covered } = this.#captured;
    const { before, after } = marksAround(instant, this.#coverage);
    for (const path of await this.#differing(instant)) {
      const between = (this.#history.get(path) ?? []).filter(
        ({ at }) => at > (before ?? from) && at <= (after ?? covered),
      );
      // Told by the marks: several versions between two of them, or a delete, whose time is an upper bound.
      if (before !== instant && (between.length > 1 || between.some(({ hex }) => hex === null))) this.#coalesced += 1;
      else this.#wrong.push(`${path} at ${instant}, marks ${before} and ${after}, ${between.length} changes between`);
    }
  }

  async #differing(instant: Instant, keys: readonly string[] = this.#captured.keys): Promise<string[]> {
    const contents = await contentsOf(await this.#captured.viewAt(instant, keys));
    const paths = new Set([...contents.keys(), ...this.#history.keys()]);
    return [...paths].filter((path) => (contents.get(path) ?? null) !== this.#truthAt(path, instant));
  }

  async #reconcile(keys: readonly string[]) {
    const { connected, covered } = this.#captured;
    const view = await this.#captured.viewAt(covered, keys);
    return reconcile({ source: connected.source, view, at: covered, scope: wholeDatabase });
  }

  /** A segment that never was: a comparison finds each document that differs for it, and what it writes mends them. */
  async #plantLoss(key: string): Promise<number> {
    const { covered } = this.#captured;
    const keys = this.#captured.keys.filter((other) => other !== key);
    const expected = await this.#differing(covered, keys);
    const { differences, repair } = await this.#reconcile(keys);
    if (differences !== expected.length)
      this.#wrong.push(`${expected.length} documents were lost with ${key}, and a comparison found ${differences}`);
    if (repair === null) return expected.length;
    const position = { collectionIds: [], provedThrough: covered, resumeToken: null };
    const stretch = { coveredFrom: covered, coveredThrough: covered, marks: [covered], position };
    const mended = await this.#captured.writer().append({ records: repair, ...stretch });
    const left = await this.#differing(covered, [...keys, mended!.key]);
    if (left.length > 0) this.#wrong.push(`${left.length} documents differ after the loss of ${key} was repaired`);
    return expected.length;
  }
}
