import type { Logger } from './log.ts';

/** Runs what was registered in reverse order, so that nothing is closed while something opened later still needs it. */
export class Lifecycle {
  readonly #closers: { name: string; close: () => unknown }[] = [];
  readonly #log: Logger;
  #closing: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  onClose(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (let entry = this.#closers.pop(); entry; entry = this.#closers.pop()) {
      try {
        await entry.close();
      } catch (error) {
        this.#log.error({ err: error, part: entry.name }, 'a part did not close cleanly');
      }
    }
  }
}
