import { minuteMs } from '../../../platform/durations.ts';
import type { CollectionView } from './nest-collections.ts';

const keptMs = minuteMs;
const treesMax = 20;

/**
 * Keeps the tree of a listing's first page for the later pages, because reading a tree costs the source a count of each
 * collection. Another process reads it itself.
 */
export class TreeCache {
  readonly #trees = new Map<string, { tree: CollectionView[]; untilMs: number }>();

  /** A tree that was kept recently, for the present connection of the project. */
  find(project: { id: string; updatedAt: Date }): CollectionView[] | undefined {
    this.#forget();
    return this.#trees.get(keyOf(project))?.tree;
  }

  keep(project: { id: string; updatedAt: Date }, tree: CollectionView[]): void {
    this.#trees.delete(keyOf(project));
    this.#trees.set(keyOf(project), { tree, untilMs: performance.now() + keptMs });
    this.#forget();
  }

  #forget(): void {
    const now = performance.now();
    for (const [key, { untilMs }] of this.#trees)
      if (untilMs < now || this.#trees.size > treesMax) this.#trees.delete(key);
  }
}

function keyOf({ id, updatedAt }: { id: string; updatedAt: Date }): string {
  return `${id} ${updatedAt.getTime()}`;
}
