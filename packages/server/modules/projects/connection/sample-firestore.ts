import type { FirestoreSandbox } from '@holdfast/sandbox';
import { minuteMs } from '../../../platform/durations.ts';

/** The host name of the sample database inside this service. */
export const sampleHost = 'sample';

const sample = { documents: 10_000, seed: 7 };
/** Long enough for a first backup, short enough for a visitor. */
const accidentAfterMs = minuteMs;

export interface NamedDatabase {
  readonly sourceProjectId: string;
  readonly databaseId: string;
}

/**
 * A Firestore with a sample shop, for people who try the service. It runs in this process, starts when it is needed,
 * and is new after a restart. A minute after it was opened, a simulated bad script deletes its products, so that there
 * is something to restore.
 */
export class SampleFirestore {
  readonly #accidentAfterMs: number;
  readonly #loaded = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #sandbox: Promise<FirestoreSandbox> | undefined;

  constructor(options: { accidentAfterMs?: number } = {}) {
    this.#accidentAfterMs = options.accidentAfterMs ?? accidentAfterMs;
  }

  /** Its address, with the sample data in the requested database. */
  async open({ sourceProjectId, databaseId }: NamedDatabase): Promise<string> {
    // Loaded on demand: most services never open it.
    const { startFirestoreSandbox, loadSample, deleteCollection } = await import('@holdfast/sandbox');
    this.#sandbox ??= startFirestoreSandbox();
    const { address, control } = await this.#sandbox;
    const name = `${sourceProjectId}/${databaseId}`;
    if (this.#loaded.has(name)) return address;
    this.#loaded.add(name);
    const database = control.database({ project: sourceProjectId, database: databaseId });
    loadSample(database, sample);
    const timer = setTimeout(() => deleteCollection(database, 'products', sample), this.#accidentAfterMs);
    this.#timers.add(timer.unref());
    return address;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await (await this.#sandbox)?.stop();
  }
}
