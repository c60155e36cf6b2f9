import type { Piece } from '../objects/contents.ts';

/** What a client may say about an object, in Google's own names. */
export interface ObjectSettings {
  contentType?: string;
  cacheControl?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  contentLanguage?: string;
  customTime?: string;
  metadata?: Record<string, string>;
  temporaryHold?: boolean;
  eventBasedHold?: boolean;
  retention?: { mode: 'Locked' | 'Unlocked'; retainUntilTime: string };
}

export interface StoredObject {
  name: string;
  /** Grows with every write, over all objects; names the version. */
  generation: number;
  metageneration: number;
  createdAtMs: number;
  updatedAtMs: number;
  size: number;
  /** Absent for objects that were composed of others. */
  md5?: string;
  crc32c: string;
  componentCount?: number;
  pieces: Piece[];
  settings: ObjectSettings;
}

export interface BucketSettings {
  name: string;
  project: string;
  location: string;
  createdAtMs: number;
  updatedAtMs: number;
  metageneration: number;
  defaultEventBasedHold?: boolean;
  retentionPolicy?: { retentionPeriodSeconds: number; effectiveAtMs: number; isLocked: boolean };
  objectRetention: boolean;
}
