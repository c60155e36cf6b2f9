/** Lets a loop sleep until it is woken or its time is up. A wake-up during work is not lost: the next sleep returns at once. */
export class Wake {
  #pending = false;
  #resume: (() => void) | undefined;

  wake(): void {
    this.#pending = true;
    this.#resume?.();
  }

  async sleep(milliseconds: number): Promise<void> {
    if (!this.#pending) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#resume = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#resume = undefined;
    }
    this.#pending = false;
  }
}
