import { notUnderstood } from './errors.ts';

/** What is asked of an object's description; everything else is left out of the answers. */
export const objectFields = 'name,size,generation,updated,md5Hash,retention';

export interface ObjectResource {
  readonly name: string;
  readonly size: number;
  readonly generation: string;
  readonly updated: Date;
  readonly md5Hash: string | undefined;
  readonly retainedUntil: Date | undefined;
}

export interface ObjectPage {
  readonly objects: ObjectResource[];
  readonly nextPageToken: string | undefined;
}

const pageTokenLengthMax = 4096;
const decimal = /^\d{1,19}$/;

/** Nothing in an answer is believed to have the shape it should have. */
export function readObject(value: unknown): ObjectResource {
  const { name, size, generation, updated, md5Hash, retention } = Object(value) as Record<string, unknown>;
  const bytes = typeof size === 'string' && decimal.test(size) ? Number(size) : Number.NaN;
  const at = dateOf(updated);
  const isSound = typeof name === 'string' && Number.isSafeInteger(bytes) && at !== undefined;
  if (!isSound || typeof generation !== 'string' || !decimal.test(generation)) throw notUnderstood('object');
  return {
    name,
    size: bytes,
    generation,
    updated: at,
    md5Hash: typeof md5Hash === 'string' ? md5Hash : undefined,
    retainedUntil: dateOf((Object(retention) as { retainUntilTime?: unknown }).retainUntilTime),
  };
}

export function readPage(value: unknown): ObjectPage {
  const { items = [], nextPageToken } = Object(value) as { items?: unknown; nextPageToken?: unknown };
  if (!Array.isArray(items)) throw notUnderstood('listing');
  return { objects: items.map(readObject), nextPageToken: readPageToken(nextPageToken) };
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
