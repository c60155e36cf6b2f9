/**
 * A database that is written to at random while its capture is killed, cut off and left behind, again and again. Then
 * random instants are recovered from base and log and compared with the database's own history of commits.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../../../sandbox/firestore/faults/random.ts';
import type { ListenBehaviour, ListenMode } from '../../../../../sandbox/index.ts';
import type { Instant } from '../../../../ports/index.ts';
import type { ForeignKind } from '../../../../testing/foreign-firestore.ts';
import { fields, type TestRecord } from '../firestore-harness.ts';
import { CapturedDatabase } from './capture-life.ts';
import { Judge, type Verdict } from './judge.ts';
import { type ChaosWorld, startForeignWorld, startSandboxWorld, type Version } from './world.ts';

export interface ChaosOptions {
  readonly writes: number;
  readonly kills: number;
  readonly instants: number;
  /** Segments that are taken out of the log afterwards, one at a time. */
  readonly losses: number;
  readonly mode: ListenMode | ForeignKind;
  /** The same writes and the same instants to look at; when what happens is up to the machine. */
  readonly seed: number;
  readonly log?: (line: string) => void;
}

export interface ChaosResult extends Verdict {
  readonly writes: number;
  readonly kills: number;
  readonly staleRestarts: number;
  readonly segments: number;
}

export async function runPitrChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { mode, instants, losses, log = () => undefined } = options;
  const world = typeof mode === 'string' ? await startSandboxWorld(mode) : await startForeignWorld(mode);
  const random = new Random(options.seed);
  try {
    await world.write([...Array(100)].map((_, index) => ({ path: `c${index % 5}/${index}`, fields: fields(index) })));
    const life = new ChaoticLife(world, await CapturedDatabase.begin(world.connected), random, options);
    await life.live();
    const { captured, kills, staleRestarts } = life;
    const knowsDeletes = typeof mode === 'string';
    const judging = { instants, losses, knowsDeletes, random, log };
    const verdict = await new Judge(captured, world.history, judging).verdict();
    const writes = [...world.history.values()].flat().length;
    return { writes, kills, staleRestarts, segments: captured.keys.length, ...verdict };
  } finally {
    await world.stop();
  }
}

const behaviours: readonly Partial<ListenBehaviour>[] = [
  { cutAfterMs: [300, 2_000] },
  { cutAfterMs: [300, 2_000], existenceFilters: 'count' },
  { cutAfterMs: [300, 2_000], existenceFilters: 'none' },
  { catchUpDocumentsMax: 40 },
  { bufferDocumentsMax: 200, cutAfterMs: [500, 3_000] },
];
/** Every so many kills the position of the next life is too old. */
const staleEvery = 12;

/** Writers write, and every so often the capture dies in the middle of whatever it does. */
class ChaoticLife {
  readonly captured: CapturedDatabase;
  readonly #world: ChaosWorld;
  readonly #random: Random;
  readonly #options: ChaosOptions;
  #life = new AbortController();
  #capturing: Promise<void> = Promise.resolve();
  kills = 0;
  staleRestarts = 0;

  constructor(world: ChaosWorld, captured: CapturedDatabase, random: Random, options: ChaosOptions) {
    this.#world = world;
    this.captured = captured;
    this.#random = random;
    this.#options = options;
  }

  async live(): Promise<void> {
    const { writes, kills } = this.#options;
    this.#world.behave(behaviours[0]!);
    this.#begin();
    for (let done = 0; done < writes; ) {
      const records = randomWrites(this.#random, done / writes, this.#world.history);
      await this.#world.write(records);
      done += records.length;
      await sleep(this.#random.below(6));
      if (this.kills < kills && done > ((this.kills + 1) * writes) / (kills + 1)) await this.#restart(done);
    }
    this.#world.behave({});
    const end = await this.captured.connected.source.snapshotTime();
    await this.#world.write([{ path: 'c0/last', fields: fields(1) }]);
    await this.#untilCovered(end);
    await this.#end();
  }

  #begin(): void {
    this.#life = new AbortController();
    this.#capturing = this.captured.capture(this.#life.signal).catch(ignoreCancelled);
  }

  async #end(): Promise<void> {
    this.#life.abort();
    await this.#capturing;
  }

  async #restart(done: number): Promise<void> {
    await this.#end();
    this.kills += 1;
    if (this.kills % staleEvery === 0) {
      // The database's clock runs ahead while nobody listens.
      this.#world.moveClock(31 * 60_000);
      this.staleRestarts += 1;
    }
    this.#world.behave(behaviours[this.kills % behaviours.length]!);
    this.#begin();
    // Every other life gets to follow live; the others die while they still catch up.
    if (this.kills % 2 === 1) await this.#untilCovered(await this.captured.connected.source.snapshotTime());
    this.#options.log?.(`${done} writes, ${this.kills} kills, ${this.captured.keys.length} segments`);
  }

  async #untilCovered(instant: Instant): Promise<void> {
    for (let waitedMs = 0; this.captured.covered < instant; waitedMs += 20) {
      if (waitedMs > 120_000) throw new Error(`capture did not reach ${instant}: ${this.captured.covered}`);
      await sleep(20);
    }
  }
}

function ignoreCancelled(error: unknown): void {
  if ((error as { code?: string }).code !== 'CANCELLED') throw error;
}

/** Over thirty collections, the later ones appearing late; now and then one is emptied at once. */
export function randomWrites(
  random: Random,
  progress: number,
  history: ReadonlyMap<string, readonly Pick<Version, 'hex'>[]>,
): TestRecord[] {
  const collections = 5 + Math.floor(progress * 25);
  if (random.below(150) === 0) {
    const emptied = `c${random.below(collections)}/`;
    const paths = [...history].filter(([path, versions]) => path.startsWith(emptied) && versions.at(-1)!.hex);
    if (paths.length > 0) return paths.slice(0, 400).map(([path]) => ({ path }));
  }
  const records = new Map<string, TestRecord>();
  for (let count = 1 + random.below(12); count > 0; count -= 1) {
    const root = `c${random.below(collections)}/${random.below(40)}`;
    const path = random.below(4) === 0 ? `${root}/s${random.below(4)}/${random.below(5)}` : root;
    // Deleting what is not there would be no write.
    const isDeleted = random.below(4) === 0 && (history.get(path)?.at(-1)?.hex ?? null) !== null;
    records.set(path, isDeleted ? { path } : { path, fields: fields(random.below(1_000_000)) });
  }
  return [...records.values()];
}
