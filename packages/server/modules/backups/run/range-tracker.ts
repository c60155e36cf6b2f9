import { Superseded } from '../../jobs/index.ts';
import type { BackupsContext } from '../context.ts';
import type { Figures } from './progress.ts';
import { type RangeRow, rangeStore } from './range-store.ts';

/** Counts what this claim has read, on top of what earlier claims of the range have saved. */
export class RangeTracker {
  readonly range: RangeRow;
  readonly #context: BackupsContext;
  #reads = () => 0;
  #documents: number;
  #bytes: number;

  constructor(context: BackupsContext, range: RangeRow) {
    this.#context = context;
    this.range = range;
    const kept = range.state?.segments ?? [];
    this.#documents = kept.reduce((sum, segment) => sum + segment.records, 0);
    this.#bytes = kept.reduce((sum, segment) => sum + segment.plainBytes, 0);
  }

  /** Sets the function that tells how many documents this claim has read. */
  readsFrom(reads: () => number): void {
    this.#reads = reads;
  }

  add(documents: number, bytes: number): void {
    this.#documents += documents;
    this.#bytes += bytes;
  }

  /** Writes the figures and the change, unless another worker has taken the range over. */
  async save(change: Partial<RangeRow>): Promise<void> {
    const { database, clock } = this.#context.platform;
    const saved = await database.tenant(this.range.organizationId, (transaction) =>
      rangeStore.save(transaction, this.range, { ...this.#figures(), ...change, updatedAt: clock.now() }),
    );
    if (!saved) throw new Superseded('another worker has taken the range over');
  }

  #figures(): Figures {
    return { documents: this.#documents, bytes: this.#bytes, reads: this.range.reads + this.#reads() };
  }
}
