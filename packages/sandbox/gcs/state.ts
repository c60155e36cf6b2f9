import type { Catalogue } from '../objects/catalogue.ts';
import type { Contents, Piece } from '../objects/contents.ts';
import { SortedMap } from '../objects/sorted-map.ts';
import { GcsError } from './errors.ts';
import type { BucketSettings, StoredObject } from './model.ts';

export interface Bucket {
  settings: BucketSettings;
  objects: SortedMap<StoredObject>;
}

/** Buckets and their live objects. A change takes effect at once; the promise resolves when it is recorded as well. */
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
        this.buckets.set(settings.name, { settings, objects: new SortedMap() });
      }
    for (const [id, row] of catalogue.loaded) if (id.startsWith('object/')) this.#loadObject(id, row as StoredObject);
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

  saveBucket(settings: BucketSettings): Promise<void> {
    const existing = this.buckets.get(settings.name);
    if (existing) existing.settings = settings;
    else this.buckets.set(settings.name, { settings, objects: new SortedMap() });
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
    if (replaced && replaced.generation !== object.generation) this.releaseAll(replaced.pieces);
  }

  async removeObject(bucket: Bucket, object: StoredObject): Promise<void> {
    bucket.objects.delete(object.name);
    await this.#catalogue.delete(`object/${bucket.settings.name}/${object.name}`);
    this.releaseAll(object.pieces);
  }

  /** Microseconds, as production's look, and never the same twice. */
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
    this.buckets.get(id.split('/')[1]!)!.objects.set(object.name, object);
    this.#generation = Math.max(this.#generation, object.generation);
    for (const piece of object.pieces) this.contents.retain(piece);
  }
}
