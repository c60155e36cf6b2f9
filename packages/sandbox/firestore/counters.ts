export interface MethodCounters {
  calls: number;
  errors: number;
  /** Documents sent, or written. */
  documents: number;
  bytesSent: number;
}

export interface CounterSnapshot {
  /** Documents billed as read: one per document looked at, at least one per query; one per 1000 index entries counted. */
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  readonly methods: Readonly<Record<string, MethodCounters>>;
}

/** What the traffic would cost in production, so that tests can check a job's budget. */
export class Counters {
  #reads = 0;
  #writes = 0;
  #deletes = 0;
  #methods = new Map<string, MethodCounters>();

  billReads(count: number): void {
    this.#reads += count;
  }

  billWrites(writes: number, deletes: number): void {
    this.#writes += writes;
    this.#deletes += deletes;
  }

  method(name: string): MethodCounters {
    let counters = this.#methods.get(name);
    if (counters === undefined) {
      counters = { calls: 0, errors: 0, documents: 0, bytesSent: 0 };
      this.#methods.set(name, counters);
    }
    return counters;
  }

  snapshot(): CounterSnapshot {
    const methods = Object.fromEntries([...this.#methods].map(([name, counters]) => [name, { ...counters }]));
    return { reads: this.#reads, writes: this.#writes, deletes: this.#deletes, methods };
  }

  reset(): void {
    this.#reads = 0;
    this.#writes = 0;
    this.#deletes = 0;
    this.#methods = new Map();
  }
}
