import { loadSample, type SampleOptions } from '../sample-data/generate.ts';
import type { DenyRule } from './access.ts';
import type { CounterSnapshot } from './counters.ts';
import type { FaultRule, WriteQuota } from './faults/faults.ts';
import { type ListenBehaviour, type ListenMode, listenBehaviour } from './listen/behaviour.ts';
import type { Sandbox } from './sandbox.ts';
import type { Database, DatabaseEdition } from './store/database.ts';
import type { DatabaseName } from './values/name.ts';

/** Everything a test or a demo can make the sandbox do, in process. */
export class Control {
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  createDatabase(name: DatabaseName): void {
    this.#sandbox.store.createDatabase(name);
  }

  /** The database itself, for bulk loading and for looking at what is stored. */
  database(name: DatabaseName): Database {
    return this.#sandbox.store.database(name);
  }

  clear(name: DatabaseName): void {
    this.#sandbox.store.findDatabase(name)?.clear();
  }

  /** Fills a database with sample documents, straight into the store. */
  loadSample(name: DatabaseName, options: SampleOptions): void {
    loadSample(this.#sandbox.store.database(name), options);
  }

  addFault(rule: FaultRule): void {
    this.#sandbox.faults.add(rule);
  }

  seedFaults(seed: number): void {
    this.#sandbox.faults.seed(seed);
  }

  setWriteQuota(quota: WriteQuota | null): void {
    this.#sandbox.faults.setWriteQuota(quota);
  }

  faultHits(): number[] {
    return this.#sandbox.faults.hits();
  }

  clearFaults(): void {
    this.#sandbox.faults.reset();
  }

  deny(rule: DenyRule): void {
    this.#sandbox.access.deny(rule);
  }

  expireToken(token: string): void {
    this.#sandbox.access.expireToken(token);
  }

  clearAccess(): void {
    this.#sandbox.access.reset();
  }

  setPointInTimeRecovery(name: DatabaseName, enabled: boolean): void {
    this.#sandbox.store.database(name).setPointInTimeRecovery(enabled);
  }

  /**
   * Like an exemption from the automatic indexes: the field's content no longer counts against the limit of index
   * entries.
   */
  exemptFromIndexes(name: DatabaseName, field: string): void {
    this.#sandbox.store.database(name).unindexedFields.add(field);
  }

  /** The guarantees for listeners from now on; open streams keep theirs. */
  setListenMode(mode: ListenMode, more: Partial<ListenBehaviour> = {}): void {
    this.#sandbox.listen = listenBehaviour(mode, more);
  }

  setEdition(name: DatabaseName, edition: DatabaseEdition): void {
    this.#sandbox.store.database(name).edition = edition;
  }

  /** Moves a database's clock forward. Time never runs back, because commit times only grow. */
  moveClock(name: DatabaseName, byMs: number): void {
    if (!(byMs >= 0)) throw new RangeError('The clock moves forward only.');
    this.#sandbox.store.database(name).moveClock(Math.round(byMs * 1000));
  }

  /** Makes every listener forget what it has and sends it everything again. */
  resetListens(): void {
    for (const reset of this.#sandbox.listenResets) reset();
  }

  counters(): CounterSnapshot {
    return this.#sandbox.counters.snapshot();
  }

  resetCounters(): void {
    this.#sandbox.counters.reset();
  }
}
