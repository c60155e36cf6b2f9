import type { BackupFact, Model } from './model.ts';
import type { Answer, World } from './world.ts';

/** Unsure: a manifest that was damaged, and wrapped anew since or only where the catalogue knows what it said. */
export type Soundness = 'whole' | 'unsure' | 'damaged';

const ownedBy = (key: string) => /^backups\/(bkp_[^/]+)\//.exec(key)?.[1];
const isManifest = (key: string) => key.endsWith('/manifest');

/** Which objects every backup consists of, and which of their bytes are known to be damaged. */
export class Damage {
  readonly #objects = new Map<string, Set<string>>();
  readonly #contents = new Map<string, Set<string>>();
  /** Manifests are wrapped anew with new keys; these were never harmed. */
  readonly #manifests = new Set<string>();
  /** Manifests with another byte: what the catalogue knows too is read all the same. */
  readonly #doubtful = new Set<string>();
  /** Keys of manifests that were damaged somewhere: one that is wrapped anew may have become whole. */
  readonly #harmedIn = new Map<number, Set<string>>();

  get isAny(): boolean {
    return this.#harmedIn.size > 0;
  }

  /** What lies there of backups that were not seen before is all of it. */
  learn(model: Model, contents: readonly ReadonlyMap<string, string>[]): void {
    for (const [destination, one] of contents.entries())
      for (const [key, content] of one) {
        const isHarmed = this.#harmedIn.get(destination)?.has(key) || this.#doubtful.has(`${key}\n${content}`);
        if (isManifest(key) && !isHarmed) this.#manifests.add(`${key}\n${content}`);
      }
    const known = new Set(this.#objects.keys());
    for (const key of contents.flatMap((one) => [...one.keys()])) {
      const id = ownedBy(key);
      if (id === undefined || known.has(id) || !model.backup(id)) continue;
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

/** What lies where at one moment, and what the service says of it. */
export class Stock {
  readonly #world: World;
  readonly #damage: Damage;
  readonly contents: readonly ReadonlyMap<string, string>[];
  readonly records: ReadonlyMap<string, Answer>;

  private constructor(
    world: World,
    damage: Damage,
    contents: readonly ReadonlyMap<string, string>[],
    records: ReadonlyMap<string, Answer>,
  ) {
    this.#world = world;
    this.#damage = damage;
    this.contents = contents;
    this.records = records;
  }

  static async take(world: World, model: Model): Promise<Stock> {
    const contents: ReadonlyMap<string, string>[] = [];
    for (const { objects } of world.destinations) contents.push(await objects());
    const answer = await world.call('GET', '/backups?limit=200');
    const listed: Answer[] = answer.body.data;
    model.damage.learn(model, contents);
    return new Stock(world, model.damage, contents, new Map(listed.map((record) => [record.id, record])));
  }

  /** The backup and what it builds on. */
  chainOf(id: string): string[] {
    const chain: string[] = [];
    for (let at: string | null = id; at; at = this.records.get(at)?.parentId ?? null) chain.push(at);
    return chain;
  }

  /** Where the service says that it lies. */
  placesOf({ id }: Pick<BackupFact, 'id'>): number[] {
    const copies: Answer[] = this.records.get(id)?.copies ?? [];
    const ids = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
    return [...this.#world.destinations.keys()].filter((index) => ids.includes(this.#world.destinations[index]!.id));
  }

  /** Whether each object lies whole in at least one of the places. */
  readable(backup: Pick<BackupFact, 'id'>, places = this.placesOf(backup)): Soundness {
    const keys = this.chainOf(backup.id).flatMap((id) => this.#damage.objectsOf(id));
    return worst(keys.map((key) => best(places.map((place) => this.#damage.soundness(this.contents, place, key)))));
  }

  /** Whether one place alone has all of it. */
  lies(backup: Pick<BackupFact, 'id'>): Soundness {
    return best([...this.contents.keys()].map((place) => this.readable(backup, [place])));
  }

  /** Whether every copy that the service speaks of is whole. */
  allWhole(backup: Pick<BackupFact, 'id'>): Soundness {
    return worst(this.placesOf(backup).map((place) => this.readable(backup, [place])));
  }
}

function best(found: readonly Soundness[]): Soundness {
  return found.includes('whole') ? 'whole' : found.includes('unsure') ? 'unsure' : 'damaged';
}

function worst(found: readonly Soundness[]): Soundness {
  return found.includes('damaged') ? 'damaged' : found.includes('unsure') ? 'unsure' : 'whole';
}
