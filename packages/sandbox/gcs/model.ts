import type { Piece } from '../objects/contents.ts';

/** An object's settings from a client, in Google's own names. */
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
  /** Grows with every write, over all objects; identifies the version. */
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
  /** When it stopped being the live one, in a bucket that keeps versions. */
  deletedAtMs?: number;
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
  versioning?: boolean;
}

/** Digests that the client claims, in base64; each that is given must be right. */
export interface ClaimedDigests {
  md5?: string | undefined;
  crc32c?: string | undefined;
}

/** What the first request of a resumable upload says. */
export interface SessionStart {
  bucketName: string;
  name: string;
  settings: ObjectSettings;
  /** Preconditions of the first request; they are checked again when the object is put in place. */
  query: ReadonlyMap<string, string>;
  claimed: ClaimedDigests;
  totalBytes: number | undefined;
}
