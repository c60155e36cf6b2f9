import { AttemptError, listingDoesNotAdvance } from './attempt.ts';

/** A service may answer with nearly empty pages for a while, but not for ever. */
const thinPagesMax = 1000;
const thinPageNames = 10;
/** Twenty million names; a backup has thousands. */
const pagesMax = 20_000;

/** Counts the pages of one listing and ends one that has no end. */
export class PageCount {
  readonly #location: string;
  readonly #prefix: string;
  #pages = 0;
  #thinPages = 0;

  constructor(location: string, prefix: string) {
    this.#location = location;
    this.#prefix = prefix;
  }

  /** Counts a page that says another one follows. */
  add(names: number): void {
    if (names < thinPageNames && ++this.#thinPages > thinPagesMax)
      throw listingDoesNotAdvance(this.#location, this.#prefix);
    if (++this.#pages <= pagesMax) return;
    throw new AttemptError('STORAGE_UNAVAILABLE', `${this.#location}: the listing of ${this.#prefix} does not end.`);
  }
}
