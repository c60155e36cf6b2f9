import { randomBytes } from 'node:crypto';
import type { Catalogue } from '../objects/catalogue.ts';
import type { Contents, Piece } from '../objects/contents.ts';
import { SortedMap } from '../objects/sorted-map.ts';
import { S3Error } from './errors.ts';
import type { BucketSettings, ObjectVersion, Upload, UploadedPart } from './model.ts';

export interface UploadState {
  upload: Upload;
  parts: Map<number, UploadedPart>;
}

export interface Bucket {
  settings: BucketSettings;
  /** Versions of each key, newest first, never empty. */
  keys: SortedMap<ObjectVersion[]>;
  uploads: SortedMap<UploadState>;
}

/**
 * Buckets, versions and uploads. A change takes effect at once and in one step, so that of two conditional writes
 * exactly one wins; the returned promise resolves when the change is recorded as well.
 */
export class S3State {
  readonly buckets = new SortedMap<Bucket>();
  readonly contents: Contents;
  readonly now: () => number;
  readonly #catalogue: Catalogue;
  #sequence = 0;

  constructor(catalogue: Catalogue, contents: Contents, now: () => number) {
    this.#catalogue = catalogue;
    this.contents = contents;
    this.now = now;
    this.#load(catalogue.loaded);
    contents.sweep();
  }

  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name);
    if (!bucket) throw new S3Error('NoSuchBucket', undefined, { BucketName: name });
    return bucket;
  }

  saveBucket(settings: BucketSettings): Promise<void> {
    const existing = this.buckets.get(settings.name);
    if (existing) existing.settings = settings;
    else this.buckets.set(settings.name, { settings, keys: new SortedMap(), uploads: new SortedMap() });
    return this.#catalogue.set(`bucket/${settings.name}`, settings);
  }

  removeBucket(name: string): Promise<void> {
    this.buckets.delete(name);
    return this.#catalogue.delete(`bucket/${name}`);
  }

  /** Adds a version, replacing the `null` version when the bucket keeps no others. */
  async addVersion(bucket: Bucket, version: Omit<ObjectVersion, 'versionId' | 'sequence'>): Promise<ObjectVersion> {
    const keepsVersions = bucket.settings.versioning === 'Enabled';
    const added = { ...version, sequence: ++this.#sequence, versionId: keepsVersions ? newVersionId() : 'null' };
    const versions = bucket.keys.get(version.key) ?? [];
    const replaced = keepsVersions ? undefined : versions.find((one) => one.versionId === 'null');
    bucket.keys.set(version.key, [added, ...versions.filter((one) => one !== replaced)]);
    await this.#catalogue.set(versionRow(bucket, added), added);
    if (replaced) this.releaseAll(replaced.pieces);
    return added;
  }

  /** Records a change to a version that is already there, such as its retention. */
  updateVersion(bucket: Bucket, version: ObjectVersion): Promise<void> {
    return this.#catalogue.set(versionRow(bucket, version), version);
  }

  async removeVersion(bucket: Bucket, version: ObjectVersion): Promise<void> {
    const left = (bucket.keys.get(version.key) ?? []).filter((one) => one !== version);
    if (left.length > 0) bucket.keys.set(version.key, left);
    else bucket.keys.delete(version.key);
    await this.#catalogue.delete(versionRow(bucket, version));
    this.releaseAll(version.pieces);
  }

  saveUpload(bucket: Bucket, upload: Upload): Promise<void> {
    bucket.uploads.set(uploadRow(upload), { upload, parts: new Map() });
    return this.#catalogue.set(`upload/${upload.bucket}/${upload.uploadId}`, upload);
  }

  async savePart(state: UploadState, part: UploadedPart): Promise<void> {
    const replaced = state.parts.get(part.partNumber);
    state.parts.set(part.partNumber, part);
    const { bucket, uploadId } = state.upload;
    await this.#catalogue.set(`part/${bucket}/${uploadId}/${part.partNumber}`, part);
    if (replaced) this.releaseAll(replaced.pieces);
  }

  /** Ends an upload; its parts are freed except those that the finished object now retains. */
  async removeUpload(bucket: Bucket, state: UploadState, kept: ReadonlySet<UploadedPart> = new Set()): Promise<void> {
    const { bucket: name, uploadId } = state.upload;
    bucket.uploads.delete(uploadRow(state.upload));
    const rows = [...state.parts.keys()].map((partNumber) => `part/${name}/${uploadId}/${partNumber}`);
    await Promise.all([...rows, `upload/${name}/${uploadId}`].map((row) => this.#catalogue.delete(row)));
    for (const part of state.parts.values()) if (!kept.has(part)) this.releaseAll(part.pieces);
  }

  releaseAll(pieces: readonly Piece[]): void {
    for (const piece of pieces) this.contents.release(piece);
  }

  close(): Promise<void> {
    return this.#catalogue.close();
  }

  #load(rows: ReadonlyMap<string, unknown>): void {
    const of = <Row>(kind: string) =>
      [...rows].filter(([id]) => id.startsWith(`${kind}/`)).map(([id, row]) => ({ id, row: row as Row }));
    for (const { row } of of<BucketSettings>('bucket'))
      this.buckets.set(row.name, { settings: row, keys: new SortedMap(), uploads: new SortedMap() });
    for (const { id, row } of of<ObjectVersion>('version')) {
      const keys = this.buckets.get(id.split('/')[1]!)!.keys;
      const versions = [...(keys.get(row.key) ?? []), row].sort((a, b) => b.sequence - a.sequence);
      keys.set(row.key, versions);
      this.#sequence = Math.max(this.#sequence, row.sequence);
      for (const piece of row.pieces) this.contents.retain(piece);
    }
    for (const { row } of of<Upload>('upload'))
      this.buckets.get(row.bucket)!.uploads.set(uploadRow(row), { upload: row, parts: new Map() });
    for (const { id, row } of of<UploadedPart>('part')) this.#loadPart(id, row);
  }

  #loadPart(id: string, part: UploadedPart): void {
    const [, bucketName, uploadId] = id.split('/');
    for (const [, state] of this.buckets.get(bucketName!)!.uploads.entriesFrom('')) {
      if (state.upload.uploadId !== uploadId) continue;
      state.parts.set(part.partNumber, part);
      for (const piece of part.pieces) this.contents.retain(piece);
    }
  }
}

function versionRow(bucket: Bucket, version: ObjectVersion): string {
  return `version/${bucket.settings.name}/${version.versionId}/${version.key}`;
}

/** Uploads are listed by key and then by id; no key contains U+0000 followed by one of our upload ids. */
export function uploadRow(upload: Pick<Upload, 'key' | 'uploadId'>): string {
  return `${upload.key}\u0000${upload.uploadId}`;
}

function newVersionId(): string {
  return randomBytes(24).toString('base64url');
}
