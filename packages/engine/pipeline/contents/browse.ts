import type { Scope } from '../../ports/document-source.ts';
import type { Selection } from '../view/selection.ts';
import type { View, ViewEntry, ViewReadOptions } from '../view/view.ts';

export interface BrowseOptions extends Omit<ViewReadOptions, 'goesOn'> {
  /** A collection's path; absent: search everywhere. */
  readonly collection?: string;
  readonly includeSubcollections?: boolean;
  /** A prefix of the document id. */
  readonly prefix?: string;
  /** The last path of the page before. */
  readonly after?: string;
  readonly limit: number;
  /** The time limit of a page; after it the page ends, even without results. */
  readonly budgetMs?: number;
}

export interface BrowsePage {
  readonly entries: readonly ViewEntry[];
  readonly hasMore: boolean;
  /** The path after which the next page begins; undefined when there is none. */
  readonly next: string | undefined;
}

/** Limits the time of a read and remembers how far it came. */
export class TimeBudget {
  readonly #endMs: number;
  /** Everything up to here was examined; undefined while there is time left. */
  stoppedAt: string | undefined;

  constructor(budgetMs: number) {
    this.#endMs = performance.now() + budgetMs;
  }

  get isUp(): boolean {
    return performance.now() >= this.#endMs;
  }

  readonly goesOn = (lastPath: string): boolean => {
    if (this.isUp) this.stoppedAt = lastPath;
    return this.stoppedAt === undefined;
  };
}

/** One page of a listing or of a search by id prefix; reads indexes, never documents. */
export async function browse(view: View, options: BrowseOptions): Promise<BrowsePage> {
  const { collection, prefix, after, limit } = options;
  const scope: Scope = {
    collections: collection === undefined ? 'all' : [collection],
    includeSubcollections: collection === undefined || (options.includeSubcollections ?? false),
    excludeCollections: [],
  };
  const selection: Selection = {
    scope,
    ...(prefix === undefined || prefix === '' ? {} : { idPrefix: prefix }),
    ...(after === undefined ? {} : { after }),
  };
  const budget = new TimeBudget(options.budgetMs ?? Number.POSITIVE_INFINITY);
  const entries: ViewEntry[] = [];
  for await (const page of view.entries(selection, { ...options, goesOn: budget.goesOn })) {
    for (const entry of page) {
      if (entries.length === limit) return { entries, hasMore: true, next: entries.at(-1)?.path };
      entries.push(entry);
    }
  }
  return { entries, hasMore: budget.stoppedAt !== undefined, next: budget.stoppedAt };
}
