import type { Damage, Soundness } from './damage.ts';
import type { BackupFact, Model } from './model.ts';
import type { Answer, World } from './world.ts';

/** What is stored where at one moment, and what the service says about it. */
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
    model.damage.learn((id) => model.backup(id) !== undefined, contents);
    return new Stock(world, model.damage, contents, new Map(listed.map((record) => [record.id, record])));
  }

  /** The backup and its parents. */
  chainOf(id: string): string[] {
    const chain: string[] = [];
    for (let at: string | null = id; at; at = this.records.get(at)?.parentId ?? null) chain.push(at);
    return chain;
  }

  /** The places that the service names for it. */
  placesOf({ id }: Pick<BackupFact, 'id'>): number[] {
    const copies: Answer[] = this.records.get(id)?.copies ?? [];
    const ids = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
    return [...this.#world.destinations.keys()].filter((index) => ids.includes(this.#world.destinations[index]!.id));
  }

  /** Whether each object is whole in at least one of the places. */
  readable(backup: Pick<BackupFact, 'id'>, places = this.placesOf(backup)): Soundness {
    const keys = this.chainOf(backup.id).flatMap((id) => this.#damage.objectsOf(id));
    return worst(keys.map((key) => best(places.map((place) => this.#damage.soundness(this.contents, place, key)))));
  }

  /** Whether one place alone has all of it. */
  lies(backup: Pick<BackupFact, 'id'>): Soundness {
    return best([...this.contents.keys()].map((place) => this.readable(backup, [place])));
  }

  /** Whether every copy that the service names is whole. */
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
