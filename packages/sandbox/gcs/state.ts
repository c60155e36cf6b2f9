import type { Catalogue } from '../objects/catalogue.ts';
import type { Contents, Piece } from '../objects/contents.ts';
import { SortedMap } from '../objects/sorted-map.ts';
import { GcsError } from './errors.ts';
import type { BucketSettings, StoredObject } from './model.ts';

export interface Bucket {
  settings: BucketSettings;
  objects: SortedMap<StoredObject>;
  /** Former versions by name, oldest first, where the bucket keeps them. */
  former: SortedMap<StoredObject[]>;
}

/** Buckets and their objects. A change takes effect at once; the promise resolves when it is recorded as well. */
export class GcsState {
  readonly buckets = new SortedMap<Bucket>();
  readonly contents: Contents;
  readonly now: () => number;
  readonly #catalogue: Catalogue;
  #generation = 0;

  constructor(catalogue: Catalogue, contents: Contents, now: () => number) {
    this.#catalogue = catalogue;
    this.contents = contents;
    this.now = now;
    for (const [id, row] of catalogue.loaded)
      if (id.startsWith('bucket/')) {
        const settings = row as BucketSettings;
        this.buckets.set(settings.name, { settings, objects: new SortedMap(), former: new SortedMap() });
      }
    for (const [id, row] of catalogue.loaded)
      if (id.startsWith('object/') || id.startsWith('former/')) this.#loadObject(id, row as StoredObject);
    contents.sweep();
  }

  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name);
    if (!bucket) throw new GcsError('notFound', 'The specified bucket does not exist.');
    return bucket;
  }

  object(bucketName: string, name: string): StoredObject {
    const object = this.bucket(bucketName).objects.get(name);
    if (!object) throw new GcsError('notFound', `No such object: ${bucketName}/${name}`);
    return object;
  }

  /** A version by its generation, live or former. */
  version(bucketName: string, name: string, generation: number): StoredObject | undefined {
    const bucket = this.bucket(bucketName);
    const all = [...(bucket.former.get(name) ?? []), ...[bucket.objects.get(name)].filter((one) => one !== undefined)];
    return all.find((one) => one.generation === generation);
  }

  saveBucket(settings: BucketSettings): Promise<void> {
    const existing = this.buckets.get(settings.name);
    if (existing) existing.settings = settings;
    else this.buckets.set(settings.name, { settings, objects: new SortedMap(), former: new SortedMap() });
    return this.#catalogue.set(`bucket/${settings.name}`, settings);
  }

  removeBucket(name: string): Promise<void> {
    this.buckets.delete(name);
    return this.#catalogue.delete(`bucket/${name}`);
  }

  async saveObject(bucket: Bucket, object: StoredObject): Promise<void> {
    const replaced = bucket.objects.get(object.name);
    bucket.objects.set(object.name, object);
    await this.#catalogue.set(`object/${bucket.settings.name}/${object.name}`, object);
    if (replaced && replaced.generation !== object.generation) await this.#retire(bucket, replaced);
  }

  /** A live object becomes a former version if the bucket keeps them, unless its generation was named. */
  async removeObject(bucket: Bucket, object: StoredObject, isForGood = false): Promise<void> {
    const { name, generation } = object;
    if (object.deletedAtMs === undefined) {
      bucket.objects.delete(name);
      await this.#catalogue.delete(`object/${bucket.settings.name}/${name}`);
      return isForGood ? this.releaseAll(object.pieces) : this.#retire(bucket, object);
    }
    const left = (bucket.former.get(name) ?? []).filter((one) => one.generation !== generation);
    if (left.length > 0) bucket.former.set(name, left);
    else bucket.former.delete(name);
    await this.#catalogue.delete(formerId(bucket, object));
    this.releaseAll(object.pieces);
  }

  async #retire(bucket: Bucket, object: StoredObject): Promise<void> {
    if (!bucket.settings.versioning) return this.releaseAll(object.pieces);
    const retired = { ...object, deletedAtMs: this.now() };
    bucket.former.set(object.name, [...(bucket.former.get(object.name) ?? []), retired]);
    await this.#catalogue.set(formerId(bucket, retired), retired);
  }

  /** Microseconds, as in production, and never the same twice. */
  nextGeneration(): number {
    this.#generation = Math.max(this.#generation + 1, this.now() * 1000);
    return this.#generation;
  }

  releaseAll(pieces: readonly Piece[]): void {
    for (const piece of pieces) this.contents.release(piece);
  }

  close(): Promise<void> {
    return this.#catalogue.close();
  }

  #loadObject(id: string, object: StoredObject): void {
    const bucket = this.buckets.get(id.split('/')[1]!)!;
    if (object.deletedAtMs === undefined) bucket.objects.set(object.name, object);
    else {
      const all = [...(bucket.former.get(object.name) ?? []), object];
      bucket.former.set(
        object.name,
        all.sort((one, other) => one.generation - other.generation),
      );
    }
    this.#generation = Math.max(this.#generation, object.generation);
    for (const piece of object.pieces) this.contents.retain(piece);
  }
}

function formerId({ settings }: Bucket, { name, generation }: StoredObject): string {
  return `former/${settings.name}/${generation}/${name}`;
}
