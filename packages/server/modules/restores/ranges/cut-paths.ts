/** Enough for many workers to share, few enough that each range is worth a job. */
const rangesMax = 32;

/**
 * The borders of a restore's ranges: one after every so many documents. A larger restore has larger ranges, not more of
 * them.
 */
export class CutPaths {
  #stride: number;
  #documents = 0;
  #paths: string[] = [];

  constructor(documentsPerRange: number) {
    this.#stride = documentsPerRange;
  }

  pass(path: string): void {
    if (this.#documents > 0 && this.#documents % this.#stride === 0) this.#paths.push(path);
    this.#documents += 1;
    if (this.#paths.length < rangesMax) return;
    this.#paths = this.#paths.filter((_, index) => index % 2 === 1);
    this.#stride *= 2;
  }

  /** The first path of each range, except the first range. None when one range would hold everything. */
  get paths(): readonly string[] {
    return this.#paths;
  }
}
