/** Unsure: the manifest was damaged, and was since rewrapped or only differs in parts that the catalogue knows. */
export type Soundness = 'whole' | 'unsure' | 'damaged';

const ownedBy = (key: string) => /^backups\/(bkp_[^/]+)\//.exec(key)?.[1];
const isManifest = (key: string) => key.endsWith('/manifest');

/** Which objects every backup consists of, and which of their bytes are known to be damaged. */
export class Damage {
  readonly #objects = new Map<string, Set<string>>();
  readonly #contents = new Map<string, Set<string>>();
  /** Manifests are rewrapped with new keys; these were never damaged. */
  readonly #manifests = new Set<string>();
  /** Manifests with a changed byte: parts that the catalogue also knows can still be read. */
  readonly #doubtful = new Set<string>();
  /** Keys of manifests that were damaged somewhere: rewrapping one may have repaired it. */
  readonly #harmedIn = new Map<number, Set<string>>();

  get isAny(): boolean {
    return this.#harmedIn.size > 0;
  }

  /** The stored objects of backups that were not seen before are all of theirs. */
  learn(isKnown: (backupId: string) => boolean, contents: readonly ReadonlyMap<string, string>[]): void {
    for (const [destination, one] of contents.entries())
      for (const [key, content] of one) {
        const isHarmed = this.#harmedIn.get(destination)?.has(key) || this.#doubtful.has(`${key}\n${content}`);
        if (isManifest(key) && !isHarmed) this.#manifests.add(`${key}\n${content}`);
      }
    const known = new Set(this.#objects.keys());
    for (const key of contents.flatMap((one) => [...one.keys()])) {
      const id = ownedBy(key);
      if (id === undefined || known.has(id) || !isKnown(id)) continue;
      this.#objects.set(id, (this.#objects.get(id) ?? new Set()).add(key));
    }
  }

  note(destination: number, key: string, content: string | null, isFlip: boolean): void {
    this.#harmedIn.set(destination, (this.#harmedIn.get(destination) ?? new Set()).add(key));
    if (content === null) return;
    if (isManifest(key) && isFlip) this.#doubtful.add(`${key}\n${content}`);
    else this.#contents.set(key, (this.#contents.get(key) ?? new Set()).add(content));
  }

  objectsOf(backupId: string): readonly string[] {
    return [...(this.#objects.get(backupId) ?? [])];
  }

  soundness(contents: readonly ReadonlyMap<string, string>[], destination: number, key: string): Soundness {
    const content = contents[destination]!.get(key);
    if (content === undefined || this.#contents.get(key)?.has(content)) return 'damaged';
    if (this.#doubtful.has(`${key}\n${content}`)) return 'unsure';
    const wasHarmed = this.#harmedIn.get(destination)?.has(key) === true;
    if (!wasHarmed || !isManifest(key)) return 'whole';
    return this.#manifests.has(`${key}\n${content}`) ? 'whole' : 'unsure';
  }
}
