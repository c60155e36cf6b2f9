export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Runs something repeatedly, with a pause before each run, until it is stopped. */
export class Repetition {
  readonly #pauseMs: () => number;
  readonly #turn: () => Promise<void>;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(pauseMs: () => number, turn: () => Promise<void>) {
    this.#pauseMs = pauseMs;
    this.#turn = turn;
  }

  start(): void {
    this.#stopped = false;
    this.#running = this.#run();
  }

  /** Waits for the running turn. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await pause(this.#pauseMs());
      if (!this.#stopped) await this.#turn();
    }
  }
}
