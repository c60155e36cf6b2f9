import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** A pause is never longer than this, however long the slice took. */
const restMsMax = 8;
/** While somebody waits for an answer, this many more pauses follow. */
const longerRests = 3;

/**
 * Long computations on the thread that answers calls, such as an export, run in slices, one at a time. Organizations
 * take turns. After each slice the thread is free for as long as the slice took. So all exports together use at most
 * half of the thread, a quarter while calls wait for their answers, and no call waits longer than a slice.
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
   * The same for a job: at once while there are no calls. While there are, the jobs of this process take turns with the
   * slices, so that a call waits for one slice and not for all of them.
   */
  async takeForJob(organizationId: string): Promise<void> {
    if (this.hasCalls) await this.take(organizationId);
  }

  /** Whether somebody waits for an answer. */
  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** A call counts from its arrival until its answer begins. */
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
      // The continuation of the promise runs before this.
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
