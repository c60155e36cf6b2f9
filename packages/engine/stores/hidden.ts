import type { HiddenObject, HiddenVersion, PurgeOutcome, VersionedBlobStore } from '../ports/index.ts';
import { listingDoesNotAdvance } from './attempt.ts';

/** Per object. Ours are written once and seldom again. */
const versionsMax = 100_000;

export interface VersionEntry extends HiddenVersion {
  readonly key: string;
  readonly isMarker: boolean;
  /** The version that readers see. When it is a marker, readers see no object. */
  readonly isCurrent: boolean;
}

/**
 * Groups the versions of each object, which must follow each other, and yields the objects that have no current
 * version. `needsMarker`: the store hides objects by markers, so an object without a current marker counts as visible.
 * In doubt nothing is hidden.
 */
export async function* hiddenAmong(
  entries: AsyncIterable<VersionEntry>,
  options: { location: string; needsMarker: boolean },
): AsyncGenerator<HiddenObject> {
  let group: Group | undefined;
  for await (const entry of entries) {
    if (group && group.key !== entry.key) {
      if (group.isHidden) yield group.object;
      group = undefined;
    }
    group ??= new Group(entry.key, options);
    group.add(entry);
  }
  if (group?.isHidden) yield group.object;
}

class Group {
  readonly key: string;
  readonly #options: { location: string; needsMarker: boolean };
  readonly #versions = new Map<string, HiddenVersion>();
  readonly #markers = new Set<string>();
  #isVisible = false;
  #isMarked = false;

  constructor(key: string, options: { location: string; needsMarker: boolean }) {
    this.key = key;
    this.#options = options;
  }

  add({ id, size, isMarker, isCurrent }: VersionEntry): void {
    if (isMarker) this.#markers.add(id);
    else this.#versions.set(id, { id, size });
    if (isCurrent && isMarker) this.#isMarked = true;
    if (isCurrent && !isMarker) this.#isVisible = true;
    if (this.#versions.size + this.#markers.size > versionsMax)
      throw listingDoesNotAdvance(this.#options.location, this.key);
  }

  get isHidden(): boolean {
    return !this.#isVisible && (this.#isMarked || !this.#options.needsMarker);
  }

  get object(): HiddenObject {
    return { key: this.key, versions: [...this.#versions.values()], markers: [...this.#markers] };
  }
}

/** Adds up what became of the versions of many objects. */
export class PurgeCount implements PurgeOutcome {
  removed = 0;
  bytes = 0;
  locked = 0;
  readonly lockedKeys: string[] = [];
  readonly returnedKeys: string[] = [];

  add({ key, versions }: HiddenObject, isLocked: (version: HiddenVersion) => boolean): void {
    const staying = versions.filter(isLocked);
    this.locked += staying.length;
    if (staying.length > 0) this.lockedKeys.push(key);
    this.removed += versions.length - staying.length;
    for (const version of versions) if (!staying.includes(version)) this.bytes += version.size;
  }
}

/** For stores that keep no versions. */
export const noVersionsKept: Pick<VersionedBlobStore, 'listHidden' | 'purgeHidden'> = {
  async *listHidden() {},
  purgeHidden: async () => new PurgeCount(),
};
