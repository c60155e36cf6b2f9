import { connectFirestore } from '@holdfast/engine';
import pg from 'pg';
import { fields, write } from '../../packages/engine/sources/firestore/testing/firestore-harness.ts';
import { randomWrites } from '../../packages/engine/sources/firestore/testing/pitr-chaos/run.ts';
import { Random } from '../../packages/sandbox/firestore/faults/random.ts';
import { pathFromKey } from '../../packages/sandbox/firestore/values/key.ts';
import { createWorld, database, Killer, pause, type World } from './world.ts';

export interface PitrWorkersOptions {
  kills: number;
  instants: number;
  seed: number;
}

/** A version by the time of its commit; null: deleted. */
interface Version {
  readonly atMs: number;
  readonly hex: string | null;
}

/** A delete found after an interruption bears the time of the first snapshot behind it. */
const lateDeleteMs = 15_000;
const quietMs = 1500;

/**
 * The whole service in processes of their own: workers that capture are killed, another takes over, and every quiet
 * moment of the past is what the database was, or is refused. Then segments vanish from the catalogue, and the comparison
 * with the database finds them.
 */
export async function chaosPitrWorkers(options: PitrWorkersOptions): Promise<boolean> {
  const world = await createWorld({ documents: 100, workers: 2, environment: { PITR_SEGMENT_SECONDS: '1' } });
  const chaos = new WorkersChaos(world, options);
  try {
    await chaos.live();
    const figures = await chaos.judge();
    const repaired = await chaos.plantLoss();
    const { wrong } = chaos;
    console.log(
      JSON.stringify({ name: 'chaos pitr-workers', seed: options.seed, ...figures, repaired, wrong: wrong.length }),
    );
    for (const sentence of wrong.slice(0, 20)) console.log(sentence);
    return wrong.length === 0 && figures.compared > 0;
  } finally {
    await chaos.close();
  }
}

class WorkersChaos {
  readonly #world: World;
  readonly #options: PitrWorkersOptions;
  readonly #random: Random;
  readonly #history = new Map<string, Version[]>();
  readonly #killer: Killer;
  readonly #writer;
  readonly #moments: number[] = [];
  readonly wrong: string[] = [];

  constructor(world: World, options: PitrWorkersOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#killer = new Killer(world.cluster, { least: 2_000, most: 9_000 });
    const connection = { type: 'emulator', host: world.firestore.address } as const;
    this.#writer = connectFirestore({ projectId: database.project, connection });
    world.firestore.control.database(database).commitListeners.add((entries, micros) => {
      for (const { key, newest } of entries) {
        const versions = this.#history.get(pathFromKey(key)) ?? [];
        versions.push({ atMs: micros / 1000, hex: newest!.length === 0 ? null : 'present' });
        this.#history.set(pathFromKey(key), versions);
      }
    });
  }

  /** Writers write and pause; each pause is a moment to come back to. */
  async live(): Promise<void> {
    const { client, projectId, firestore } = this.#world;
    firestore.control.setListenMode('as-production', { cutAfterMs: [2_000, 8_000] });
    await write(
      this.#writer,
      [...Array(100)].map((_, index) => ({ path: `c${index % 5}/${index}`, fields: fields(1) })),
    );
    await client.enablePitr({ params: { projectId }, body: {} });
    await this.#until(async () => (await this.#pitr()).status === 'running');
    this.#killer.start();
    for (let round = 0; this.#killer.kills < this.#options.kills; round += 1) {
      const progress = this.#killer.kills / this.#options.kills;
      for (let count = this.#random.below(12); count >= 0; count -= 1)
        await write(this.#writer, randomWrites(this.#random, progress, this.#history));
      await pause(quietMs);
      this.#moments.push(Date.now() - 100);
      if (round % 10 === 0) console.log(`${round} rounds, ${this.#killer.kills} kills`);
    }
    await this.#killer.stop();
    firestore.control.setListenMode('as-production');
    const endMs = Date.now();
    await this.#until(async () => Date.parse((await this.#pitr()).coveredTo ?? '') > endMs);
  }

  async judge() {
    const figures = {
      kills: this.#killer.kills,
      moments: this.#moments.length,
      compared: 0,
      refused: 0,
      lateDeletes: 0,
    };
    const { gaps, coveredFrom } = await this.#pitr();
    const { instants } = this.#options;
    while (figures.compared < instants && figures.refused < instants * 5) {
      const atMs = this.#random.pick(this.#moments);
      const at = new Date(atMs).toISOString();
      const isTold = gaps.some(({ from, to }) => Date.parse(from) <= atMs && atMs <= Date.parse(to));
      const seen = await this.#export(at);
      if (seen === undefined) {
        figures.refused += 1;
        if (!isTold && at >= coveredFrom!) this.wrong.push(`${at} is refused and lies in no gap`);
        continue;
      }
      figures.compared += 1;
      figures.lateDeletes += this.#compare(atMs, seen);
    }
    return { ...figures, gaps: gaps.length };
  }

  /** A part of the catalogue vanishes; the comparison that is due then says so, and everything is there again. */
  async plantLoss(): Promise<number> {
    const { databaseUrl, projectId, client } = this.#world;
    const catalogue = new pg.Client({ connectionString: databaseUrl });
    await catalogue.connect();
    try {
      await catalogue.query(
        `delete from pitr_segments where ctid = any(array(select ctid from pitr_segments
          where project_id = $1 and changes > 0 and gap is null order by covered_through desc limit 3))`,
        [projectId],
      );
      const before = (await this.#pitr()).lastReconciledAt;
      await catalogue.query('update pitr_logs set reconcile_due_at = now() where project_id = $1', [projectId]);
      await this.#until(async () => (await this.#pitr()).lastReconciledAt !== before);
    } finally {
      await catalogue.end();
    }
    const { coveredTo } = await this.#pitr();
    const seen = await this.#export(coveredTo!);
    if (seen) this.#compare(Date.parse(coveredTo!), seen);
    else this.wrong.push('the newest moment is refused after the repair');
    const { data } = await client.listAuditLogs({ query: { action: 'pitr.difference_repaired', limit: 50 } });
    if (data.length === 0) this.wrong.push('a loss was planted, and no comparison found it');
    return data.length;
  }

  async close(): Promise<void> {
    await this.#killer.stop();
    await this.#writer.close();
    await this.#world.close();
  }

  /** Every document by the time of its last commit; undefined when the moment is refused. */
  async #export(at: string): Promise<Map<string, number> | undefined> {
    const { client, projectId } = this.#world;
    const seen = new Map<string, number>();
    let text = '';
    try {
      const stream = await client.exportPitr({ params: { projectId }, query: { at } });
      for await (const piece of stream.text()) text += piece;
    } catch (error) {
      if ((error as { code?: string }).code === 'POINT_IN_TIME_UNAVAILABLE') return undefined;
      throw error;
    }
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const { name, updateTime } = JSON.parse(line) as { name: string; updateTime: string };
      seen.set(name.slice(name.indexOf('/documents/') + '/documents/'.length), millisecondsOf(updateTime));
    }
    return seen;
  }

  #compare(atMs: number, seen: ReadonlyMap<string, number>): number {
    let lateDeletes = 0;
    for (const path of new Set([...seen.keys(), ...this.#history.keys()])) {
      const truth = this.#history.get(path)?.findLast((version) => version.atMs <= atMs);
      if (truth === undefined && path.startsWith('items/')) continue;
      const shown = seen.get(path);
      if (truth?.hex ? shown === truth.atMs : shown === undefined) continue;
      if (truth && truth.hex === null && atMs - truth.atMs < lateDeleteMs) lateDeletes += 1;
      else this.wrong.push(`${path} at ${new Date(atMs).toISOString()}: ${shown} instead of ${JSON.stringify(truth)}`);
    }
    return lateDeletes;
  }

  async #pitr() {
    const { client, projectId } = this.#world;
    return client.getPitr({ params: { projectId } });
  }

  async #until(isSo: () => Promise<boolean>): Promise<void> {
    for (let waitedMs = 0; !(await isSo()); waitedMs += 250) {
      if (waitedMs > 240_000) throw new Error('what was waited for did not come about');
      await pause(250);
    }
  }
}

/** With microseconds, as the database's own. */
function millisecondsOf(time: string): number {
  const fraction = /\.(\d{1,6})/.exec(time)?.[1] ?? '';
  return (Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(fraction.padEnd(6, '0'))) / 1000;
}
