import { createS3Store } from '@holdfast/engine';
import { fillFast, sandboxS3Credential } from '@holdfast/sandbox';
import pg from 'pg';
import { bucketAt, createWorld, database, Killer, pause, type World } from './world.ts';

const foreignKeys = ['backups/mysql/2024-01-01.sql.gz', 'backups/notes.txt', 'keys/other'];
const orphanKey = 'backups/bkp_0000000000ABCDEFGHJKMNPQRS/segments/00000000000000000000000000000000';
const kinds = ['migrate', 'sweep', 'rescan', 'delete'] as const;
const yearMs = 365 * 86_400_000;

/**
 * Migrations, sweeps, rescans and deletions of backups over a slow bucket while workers are killed. After each every backup
 * shows what it showed, lies in one place, nothing is stuck, and what is not ours was not touched.
 */
export async function chaosStorage(options: { runs: number; documents: number }): Promise<boolean> {
  const clock = { aheadMs: 0 };
  const world = await createWorld({
    documents: options.documents,
    workers: 2,
    s3Now: () => Date.now() + clock.aheadMs,
  });
  const killer = new Killer(world.cluster, { least: 2000, most: 15_000 });
  let wrong = 0;
  try {
    const round = await Round.begin(world, clock);
    for (let run = 1; run <= options.runs; run++) {
      const kind = kinds[(run - 1) % kinds.length]!;
      world.s3.faults.set({ delayRate: 1, delayMsMin: 10, delayMsMax: 60 });
      killer.start();
      const told = await round[kind]();
      await killer.stop();
      world.s3.faults.clear();
      const faults = [...told, ...(await round.faults())];
      if (faults.length > 0) wrong++;
      console.log(
        `run ${run}: ${kind} ${faults.length > 0 ? `BROKEN: ${faults.join('; ')}` : 'whole'}; ${killer.kills} kills so far`,
      );
    }
    console.log(JSON.stringify({ name: 'chaos storage', runs: options.runs, kills: killer.kills, wrong }));
    return wrong === 0;
  } finally {
    await killer.stop();
    await world.close();
  }
}

class Round {
  readonly #world: World;
  readonly #clock: { aheadMs: number };
  readonly #contents = new Map<string, string>();
  readonly #gone = new Set<string>();
  #made = 0;
  /** Where the backups lie, and where they go next. */
  #places: [string, string];

  private constructor(world: World, clock: { aheadMs: number }, second: string) {
    this.#world = world;
    this.#clock = clock;
    this.#places = [world.destinationId, second];
  }

  static async begin(world: World, clock: { aheadMs: number }): Promise<Round> {
    const second = await world.client.createStorageDestination({ body: { ...bucketAt(world.s3), prefix: 'second' } });
    const round = new Round(world, clock, second.id);
    for (const prefix of ['', 'second']) for (const key of foreignKeys) await round.#plant(prefix, key);
    for (const type of ['full', 'incremental', 'incremental', 'full', 'incremental'] as const)
      await round.#backUp(type);
    return round;
  }

  async migrate(): Promise<string[]> {
    const [from, to] = this.#places;
    this.#places = [to, from];
    const task = await this.#world.client.migrateStorageDestination({
      params: { storageDestinationId: from },
      body: { toStorageDestinationId: to },
    });
    return this.#untilTask(from, task.id);
  }

  /** What nobody owns goes, whoever is killed meanwhile. */
  async sweep(): Promise<string[]> {
    const [here] = this.#places;
    this.#clock.aheadMs = -yearMs;
    for (let index = 10; index < 60; index++)
      await this.#plant(this.#prefixOf(here), `${orphanKey.slice(0, -2)}${index}`);
    this.#clock.aheadMs = 0;
    const task = await this.#world.client.sweepStorageDestination({ params: { storageDestinationId: here } });
    const faults = await this.#untilTask(here, task.id);
    const left = (await this.#keys(here)).filter((key) => key.startsWith(orphanKey.slice(0, 40)));
    return left.length > 0 ? [...faults, `${left.length} orphans are left`] : faults;
  }

  /** A catalogue that has forgotten everything finds everything again. */
  async rescan(): Promise<string[]> {
    const [here] = this.#places;
    const catalogue = new pg.Client({ connectionString: this.#world.databaseUrl });
    await catalogue.connect();
    await catalogue.query('delete from backups');
    await catalogue.end();
    const task = await this.#world.client.rescanStorageDestination({ params: { storageDestinationId: here } });
    return this.#untilTask(here, task.id);
  }

  async delete(): Promise<string[]> {
    const id = await this.#backUp('full');
    await this.#world.client.deleteBackup({ params: { backupId: id } });
    this.#contents.delete(id);
    this.#gone.add(id);
    for (let waits = 0; waits < 600; waits++) {
      if (!(await this.#keys(this.#places[0])).some((key) => key.includes(id))) return [];
      await pause(250);
    }
    return [`objects of ${id} are left`];
  }

  /** What is not as promised now that all is quiet. */
  async faults(): Promise<string[]> {
    const faults: string[] = [];
    const [here, there] = this.#places;
    const known = await this.#world.client.listBackups({ query: { limit: 200 } });
    const ids = new Set(known.data.map(({ id }) => id));
    for (const id of this.#gone) if (ids.has(id)) faults.push(`${id} was deleted and is there`);
    for (const [id, text] of this.#contents) {
      const backup = await this.#world.client.getBackup({ params: { backupId: id } }).catch(() => undefined);
      if (backup?.status !== 'completed') faults.push(`${id} is ${backup?.status ?? 'gone'}`);
      else if ((await this.#exported(id)) !== text) faults.push(`${id} shows something else`);
      const places = backup?.copies.map((copy) => copy.storageDestinationId);
      if (places?.join() !== here) faults.push(`${id} is said to lie in ${places?.join()} and not in ${here}`);
    }
    const left = (await this.#keys(there)).filter((key) => /^backups\/bkp_/.test(key));
    if (left.length > 0) faults.push(`${left.length} objects are left behind`);
    for (const prefix of ['', 'second'])
      for (const key of foreignKeys) if (!(await this.#isPlanted(prefix, key))) faults.push(`${key} was touched`);
    return faults;
  }

  async #backUp(type: 'full' | 'incremental'): Promise<string> {
    const { client, projectId, firestore } = this.#world;
    this.#made += 1;
    fillFast(firestore.control.database(database), { collection: `made${this.#made}`, documents: 5 });
    const [storageDestinationId] = this.#places;
    const { id } = await client.createBackup({ body: { projectId, type, storageDestinationId } });
    for (;;) {
      const { status, error } = await client.getBackup({ params: { backupId: id } });
      if (status === 'completed') break;
      if (status !== 'pending' && status !== 'running') throw new Error(`a backup ${status}: ${error?.message}`);
      await pause(250);
    }
    this.#contents.set(id, await this.#exported(id));
    return id;
  }

  async #untilTask(destinationId: string, taskId: string): Promise<string[]> {
    for (let waits = 0; waits < 2400; waits++) {
      const params = { storageDestinationId: destinationId, taskId };
      const { status, error } = await this.#world.client.getStorageTask({ params });
      if (status === 'completed') return [];
      if (status === 'failed') return [`failed: ${error?.message}`];
      await pause(250);
    }
    return ['stuck'];
  }

  async #exported(id: string): Promise<string> {
    const { cluster, session } = this.#world;
    const headers = { authorization: `Bearer ${session.token}`, 'x-organization-id': session.organizationId };
    const answer = await fetch(`${cluster.address}/api/v1/backups/${id}/export`, { headers });
    return `${answer.status} ${await answer.text()}`;
  }

  #prefixOf(destinationId: string): string {
    return destinationId === this.#world.destinationId ? '' : 'second';
  }

  async #keys(destinationId: string): Promise<string[]> {
    return this.#within(this.#prefixOf(destinationId), async (store) => {
      const keys: string[] = [];
      for await (const { key } of store.list('')) if (!key.startsWith('second/')) keys.push(key);
      return keys;
    });
  }

  #plant(prefix: string, key: string): Promise<unknown> {
    return this.#within(prefix, (store) => store.put(key, Buffer.from(`not ours: ${key}`)));
  }

  #isPlanted(prefix: string, key: string): Promise<boolean> {
    return this.#within(prefix, async (store) => {
      const found = await store.get(key).catch(() => undefined);
      return found !== undefined && Buffer.from(found).toString() === `not ours: ${key}`;
    });
  }

  async #within<Result>(
    prefix: string,
    work: (store: Awaited<ReturnType<typeof createS3Store>>) => Promise<Result>,
  ): Promise<Result> {
    const { bucket, region, endpoint, forcePathStyle } = bucketAt(this.#world.s3);
    const place = { bucket, region, endpoint, forcePathStyle, ...(prefix ? { prefix } : {}) };
    const store = await createS3Store({ kind: 's3', ...place, credentials: { ...sandboxS3Credential } });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}
