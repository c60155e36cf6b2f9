import { dayMs } from '@holdfast/contract';
import { createS3Store } from '@holdfast/engine';
import { fillFast, sandboxS3Credential } from '@holdfast/sandbox';
import pg from 'pg';
import { fingerprint } from './restores.ts';
import { bucketAt, createWorld, database, pause, type World } from './world.ts';

const foreignKeys = ['backups/mysql/2024-01-01.sql.gz', 'backups/notes.txt', 'keys/other'];
const orphanKey = 'backups/bkp_0000000000ABCDEFGHJKMNPQRS/segments/00000000000000000000000000000000';
const kinds = ['migrate', 'sweep', 'rescan', 'delete', 'purge', 'undo', 'cancel'] as const;
const yearMs = 365 * dayMs;
const killsPerRun = 2;

/**
 * Migrations, sweeps, rescans, deletions, purges, undos and cancelled restores, each of whose workers are killed while they
 * do it. Others take the work up. Afterwards every backup shows what it showed, lies in one place, nothing is stuck, the
 * database is what it was, and what is not ours was not touched.
 */
export async function chaosStorage(options: { runs: number; documents: number }): Promise<boolean> {
  const clock = { aheadMs: 0 };
  const world = await createWorld({
    documents: options.documents,
    workers: killsPerRun,
    s3Now: () => Date.now() + clock.aheadMs,
  });
  const beganAtMs = performance.now();
  let wrong = 0;
  let kills = 0;
  try {
    const round = await Round.begin(world, clock);
    for (let run = 1; run <= options.runs; run++) {
      const kind = kinds[(run - 1) % kinds.length]!;
      const told = await round[kind]();
      kills += killsPerRun;
      const faults = [...told, ...(await round.faults())];
      if (faults.length > 0) wrong++;
      const seconds = Math.round((performance.now() - beganAtMs) / 1000);
      const outcome = faults.length > 0 ? `BROKEN: ${faults.join('; ')}` : 'whole';
      console.log(`run ${run}: ${kind} ${outcome}; ${kills} kills in ${seconds} s`);
    }
    const seconds = Math.round((performance.now() - beganAtMs) / 1000);
    console.log(JSON.stringify({ name: 'chaos storage', runs: options.runs, kills, seconds, wrong }));
    return wrong === 0;
  } finally {
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
    const { settings } = world.s3.objects.bucket('chaos');
    await world.s3.objects.saveBucket({ ...settings, versioning: 'Enabled' });
    const { projectId } = world;
    await world.client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
    for (const prefix of ['', 'second']) for (const key of foreignKeys) await round.#plant(prefix, key);
    for (const type of ['full', 'incremental', 'incremental', 'full', 'incremental'] as const)
      await round.#backUp(type);
    return round;
  }

  async migrate(): Promise<string[]> {
    const [from, to] = this.#places;
    this.#places = [to, from];
    this.#slow('PutObject');
    const task = await this.#world.client.migrateStorageDestination({
      params: { storageDestinationId: from },
      body: { toStorageDestinationId: to },
    });
    await this.#killInTheMiddle();
    return this.#untilTask(from, task.id);
  }

  /** What nobody owns goes, whoever is killed meanwhile. */
  async sweep(): Promise<string[]> {
    const [here] = this.#places;
    this.#clock.aheadMs = -yearMs;
    for (let index = 10; index < 60; index++)
      await this.#plant(this.#prefixOf(here), `${orphanKey.slice(0, -2)}${index}`);
    this.#clock.aheadMs = 0;
    this.#slow('DeleteObjects');
    const task = await this.#world.client.sweepStorageDestination({ params: { storageDestinationId: here } });
    await this.#killInTheMiddle();
    const faults = await this.#untilTask(here, task.id);
    const left = (await this.#keys(here)).filter((key) => key.startsWith(orphanKey.slice(0, 40)));
    return left.length > 0 ? [...faults, `${left.length} orphans are left`] : faults;
  }

  /** A catalogue that has forgotten everything finds everything again. */
  async rescan(): Promise<string[]> {
    const [here] = this.#places;
    const catalogue = new pg.Client({ connectionString: this.#world.databaseUrl });
    await catalogue.connect();
    await catalogue.query('delete from restores');
    await catalogue.query('delete from backups');
    await catalogue.end();
    this.#slow('GetObject');
    const task = await this.#world.client.rescanStorageDestination({ params: { storageDestinationId: here } });
    await this.#killInTheMiddle();
    return this.#untilTask(here, task.id);
  }

  async delete(): Promise<string[]> {
    const id = await this.#backUp('full');
    this.#slow('DeleteObjects');
    await this.#world.client.deleteBackup({ params: { backupId: id } });
    this.#contents.delete(id);
    this.#gone.add(id);
    await this.#killInTheMiddle();
    for (let waits = 0; waits < 1500; waits++) {
      if (!(await this.#keys(this.#places[0])).some((key) => key.includes(id))) return [];
      await pause(100);
    }
    return [`objects of ${id} are left`];
  }

  /** What was deleted, swept and moved so far is hidden; now it goes for good. */
  async purge(): Promise<string[]> {
    const [here] = this.#places;
    this.#slow('DeleteObjects');
    const task = await this.#world.client.purgeStorageDestination({ params: { storageDestinationId: here }, body: {} });
    await this.#killInTheMiddle();
    const faults = await this.#untilTask(here, task.id);
    const hidden = await this.#within(this.#prefixOf(here), async (store) => {
      const keys: string[] = [];
      for await (const { key } of store.listHidden('backups/bkp_')) keys.push(key);
      return keys;
    });
    return hidden.length > 0 ? [...faults, `${hidden.length} hidden objects are left`] : faults;
  }

  /** A restore that is taken back by workers that die over it. */
  async undo(): Promise<string[]> {
    const { client } = this.#world;
    const former = await this.#overwritten();
    const { id } = await client.startRestore({ body: { backupId: this.#first, options: { deleteExtra: true } } });
    const done = await this.#untilRestored(id);
    if (done.status !== 'completed') return [`the restore ${done.status}: ${done.error?.message}`];
    const gate = this.#holdWrites();
    const undo = await client.undoRestore({ params: { restoreJobId: id }, body: {} });
    await this.#killOverWrites(gate);
    return this.#isUndone(undo.id, former);
  }

  /** Given up in the moment its workers die, and undone at once. */
  async cancel(): Promise<string[]> {
    const { client } = this.#world;
    const former = await this.#overwritten();
    const gate = this.#holdWrites();
    const { id } = await client.startRestore({ body: { backupId: this.#first, options: { deleteExtra: true } } });
    await this.#killOverWrites(gate, () => client.cancelRestore({ params: { restoreJobId: id } }));
    const ended = await this.#untilRestored(id);
    if (ended.status !== 'cancelled') return [`a cancelled restore ${ended.status}`];
    const undo = await client.undoRestore({ params: { restoreJobId: id }, body: {} });
    return this.#isUndone(undo.id, former);
  }

  get #first(): string {
    return [...this.#contents.keys()][0]!;
  }

  /** The database holds something else than the backups from now on. */
  async #overwritten(): Promise<string> {
    const { firestore } = this.#world;
    const there = firestore.control.database(database);
    this.#made += 1;
    fillFast(there, { collection: 'items', documents: 100, seed: this.#made });
    fillFast(there, { collection: 'extra', documents: 100, seed: this.#made });
    return fingerprint(this.#world);
  }

  async #isUndone(id: string, former: string): Promise<string[]> {
    const { status, conflicts, error } = await this.#untilRestored(id);
    if (status !== 'completed') return [`an undo ${status}: ${error?.message}`];
    if (conflicts > 0) return [`an undo met ${conflicts} conflicts that nobody made`];
    return (await fingerprint(this.#world)) === former ? [] : ['an undo left something else'];
  }

  async #untilRestored(id: string) {
    for (let waits = 0; ; waits++) {
      const restore = await this.#world.client.getRestore({ params: { restoreJobId: id } });
      if (!['pending', 'running'].includes(restore.status) || waits > 2400) return restore;
      await pause(100);
    }
  }

  /** From now on these requests hang for a moment, so that somebody can be killed over them. */
  #slow(operation: string): void {
    this.#world.s3.faults.set({ delayRate: 1, delayMsMin: 400, delayMsMax: 600, operations: [operation] });
  }

  async #killInTheMiddle(): Promise<void> {
    const { faults } = this.#world.s3;
    const patience = 1 + Math.floor(Math.random() * 3);
    for (let waits = 0; waits < 3000 && faults.counts.delays < patience; waits++) {
      await pause(10);
      // Some work has fewer of them than that.
      if (faults.counts.delays > 0 && waits % 100 === 99) break;
    }
    await this.#killAll();
    faults.clear();
  }

  #holdWrites(): PromiseWithResolvers<void> {
    const gate = Promise.withResolvers<void>();
    this.#world.firestore.control.addFault({ method: 'BatchWrite', until: gate.promise, times: 1 });
    return gate;
  }

  async #killOverWrites(gate: PromiseWithResolvers<void>, meanwhile?: () => Promise<unknown>): Promise<void> {
    const { control } = this.#world.firestore;
    for (let waits = 0; waits < 3000 && (control.faultHits()[0] ?? 0) === 0; waits++) await pause(10);
    await Promise.all([meanwhile?.(), this.#killAll()]);
    gate.resolve();
    control.clearFaults();
  }

  /** Whoever held the work is among them. */
  async #killAll(): Promise<void> {
    const { cluster } = this.#world;
    for (const worker of cluster.workers) worker.kill('SIGKILL');
    await Promise.all(Array.from({ length: killsPerRun }, () => cluster.startWorker()));
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
      await pause(100);
    }
    this.#contents.set(id, await this.#exported(id));
    return id;
  }

  async #untilTask(destinationId: string, taskId: string): Promise<string[]> {
    for (let waits = 0; waits < 6000; waits++) {
      const params = { storageDestinationId: destinationId, taskId };
      const { status, error } = await this.#world.client.getStorageTask({ params });
      if (status === 'completed') return [];
      if (status === 'failed') return [`failed: ${error?.message}`];
      await pause(100);
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
