import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** However long a slice took, a rest after it is no longer. */
const restMsMax = 8;
/** So many rests more follow while somebody waits for an answer. */
const longerRests = 3;

/**
 * Work that computes for long on the thread that answers calls, such as an export, does so in slices, one at a time.
 * Organizations take turns, and after each slice the thread is free for as long as the slice took: many exports of one
 * organization together use half of the thread at most, a quarter while calls wait for their answers, and keep no call
 * waiting for longer than a slice.
 */
export class CpuTurns {
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;
  #calls = 0;

  /** Resolves when the next slice, of a few milliseconds, may be computed. */
  take(organizationId: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(organizationId);
      if (own) own.push(resolve);
      else this.#waiting.set(organizationId, [resolve]);
      if (!this.#isRunning) void this.#run();
    });
  }

  /**
   * The same for a job: at once while nobody calls. While somebody does, the jobs of this process take turns with the rest,
   * so that a call waits for a slice and not for all that is ready.
   */
  async takeForJob(organizationId: string): Promise<void> {
    if (this.hasCalls) await this.take(organizationId);
  }

  /** Whether somebody waits for an answer. */
  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** A call is under way from when it came until its answer begins. */
  callBegan(): void {
    this.#calls += 1;
  }

  callEnded(): void {
    this.#calls -= 1;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let begin = this.#next(); begin !== undefined; begin = this.#next()) {
      const startedMs = performance.now();
      begin();
      // What follows from the promise runs before this.
      await nextTurn();
      await this.#rest(Math.min(restMsMax, performance.now() - startedMs));
    }
    this.#isRunning = false;
  }

  async #rest(milliseconds: number): Promise<void> {
    await sleep(milliseconds);
    for (let more = 0; more < longerRests && this.hasCalls; more += 1) await sleep(milliseconds);
  }

  #next(): (() => void) | undefined {
    for (const [organizationId, own] of this.#waiting) {
      this.#waiting.delete(organizationId);
      const begin = own.shift();
      if (own.length > 0) this.#waiting.set(organizationId, own);
      return begin;
    }
    return undefined;
  }
}
