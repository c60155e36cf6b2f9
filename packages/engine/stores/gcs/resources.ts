import type { LockAbility } from '../../ports/index.ts';
import { notUnderstood } from './errors.ts';

/** What is asked of an object's description; everything else is left out of the answers. */
export const objectFields =
  'name,size,generation,updated,md5Hash,retention,retentionExpirationTime,temporaryHold,eventBasedHold,timeDeleted';

export interface ObjectResource {
  readonly name: string;
  readonly size: number;
  readonly generation: string;
  readonly updated: Date;
  readonly md5Hash: string | undefined;
  readonly retainedUntil: Date | undefined;
  /** By its own retention or the bucket's, whichever lasts longer. */
  readonly protectedUntil: Date | undefined;
  readonly isHeld: boolean;
  /** Replaced or deleted, and kept because the bucket keeps versions. */
  readonly isFormer: boolean;
}

export interface ObjectPage {
  readonly objects: ObjectResource[];
  readonly nextPageToken: string | undefined;
}

const pageTokenLengthMax = 4096;
const decimal = /^\d{1,19}$/;

/** Nothing in an answer is believed to have the shape it should have. */
export function readObject(value: unknown): ObjectResource {
  const fields = Object(value) as Record<string, unknown>;
  const { name, size, generation, updated, md5Hash, retention } = fields;
  const bytes = typeof size === 'string' && decimal.test(size) ? Number(size) : Number.NaN;
  const at = dateOf(updated);
  const retainedUntil = dateOf((Object(retention) as { retainUntilTime?: unknown }).retainUntilTime);
  const isSound = typeof name === 'string' && Number.isSafeInteger(bytes) && at !== undefined;
  if (!isSound || typeof generation !== 'string' || !decimal.test(generation)) throw notUnderstood('object');
  return {
    name,
    size: bytes,
    generation,
    updated: at,
    md5Hash: typeof md5Hash === 'string' ? md5Hash : undefined,
    retainedUntil,
    protectedUntil: later(retainedUntil, dateOf(fields.retentionExpirationTime)),
    isHeld: fields.temporaryHold === true || fields.eventBasedHold === true,
    isFormer: fields.timeDeleted !== undefined,
  };
}

export function readPage(value: unknown): ObjectPage {
  const { items = [], nextPageToken } = Object(value) as { items?: unknown; nextPageToken?: unknown };
  if (!Array.isArray(items)) throw notUnderstood('listing');
  return { objects: items.map(readObject), nextPageToken: readPageToken(nextPageToken) };
}

/** Locks are the retention of single objects, which a bucket has to allow; a retention policy of the bucket is no substitute. */
export function readLockAbility(bucket: unknown, location: string): LockAbility {
  const { mode } = Object((Object(bucket) as { objectRetention?: unknown }).objectRetention) as { mode?: unknown };
  if (mode === 'Enabled') return { canLock: true };
  const reason = `Object retention is not enabled on the bucket of ${location}. Enable it there (for a bucket that exists in the Google Cloud console, under Protection), choose a bucket that was created with it, or take the object lock from the destination.`;
  return { canLock: false, reason };
}

export function readPageToken(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string' || value.length > pageTokenLengthMax) throw notUnderstood('listing');
  return value;
}

function dateOf(value: unknown): Date | undefined {
  const at = typeof value === 'string' ? new Date(value) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at : undefined;
}

function later(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one && other ? (one > other ? one : other) : (one ?? other);
}
