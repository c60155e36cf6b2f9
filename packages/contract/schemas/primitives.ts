import { z } from 'zod';
import { dayMs } from '../durations.ts';

/**
 * The building blocks of all other schemas. Every string is bounded and well formed: control characters, null bytes and
 * lone surrogates are refused here, so that no other code has to handle them.
 */

const controls = '\\u0000-\\u001f\\u007f-\\u009f';
const oneLine = new RegExp(`^[^${controls}]*$`, 'u');
const manyLines = new RegExp(`^(?:[^${controls}]|[\\t\\n\\r])*$`, 'u');
const noControls = { error: 'must not hold control characters' };

/** Half of a surrogate pair is a valid JavaScript string, but no file or database can hold it. */
const isWellFormed = (value: string) => value.isWellFormed();
const wellFormed = { error: 'must be well-formed Unicode' };

export function text(bounds: { min?: number; max: number }) {
  return z
    .string()
    .min(bounds.min ?? 0)
    .max(bounds.max)
    .regex(oneLine, noControls)
    .refine(isWellFormed, wellFormed);
}

export function multilineText(bounds: { min?: number; max: number }) {
  return z
    .string()
    .min(bounds.min ?? 0)
    .max(bounds.max)
    .regex(manyLines, noControls)
    .refine(isWellFormed, wellFormed);
}

/** The name of a document, a collection or a field: Firestore allows any text, including line ends. */
export function firestoreName(bounds: { min?: number; max: number }) {
  return z
    .string()
    .min(bounds.min ?? 0)
    .max(bounds.max)
    .regex(/^[\s\S]*$/)
    .refine(isWellFormed, wellFormed);
}

/** A display name: trimmed, 1 to 100 characters. */
export const name = z.string().trim().min(1).max(100).regex(oneLine, noControls).refine(isWellFormed, wellFormed);

/** An id as the service writes it. */
export function identifier(prefix?: string) {
  return z
    .string()
    .max(64)
    .regex(prefix ? new RegExp(`^${prefix}_[0-9A-Za-z]+$`) : /^[a-z]+_[0-9A-Za-z]+$/);
}

/**
 * An id as a caller sends it. It only has to be a bounded, well-formed string: an impossible id is *not found*, like
 * one that does not exist.
 */
export function reference() {
  return text({ min: 1, max: 256 });
}

/** Whole numbers carry bounds and a wire format, so that clients in other languages choose the right type. */
export function integer(bounds: { min: number; max: number }) {
  return z
    .int()
    .min(bounds.min)
    .max(bounds.max)
    .meta({ format: bounds.max > 2_147_483_647 || bounds.min < -2_147_483_648 ? 'int64' : 'int32' });
}

export const count = () => integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const bytes = () => integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const milliseconds = () => integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const percent = () => integer({ min: 0, max: 100 });

/** A timestamp as the service writes it: UTC with milliseconds. */
export const timestamp = () => z.iso.datetime().max(40);
/** A time as Firestore writes it: nanoseconds, any year it knows. */
export const firestoreTime = () => z.iso.datetime().max(40);

const earliestMs = 0;
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Times outside these years are typing mistakes, and databases treat them differently. */
function isSensible(value: string): boolean {
  const timeMs = Date.parse(value);
  return timeMs >= earliestMs && timeMs <= latestMs;
}

/** A timestamp as a caller sends it: any offset. */
export const instant = () =>
  z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 timestamp with a time zone' })
    .max(40)
    .refine(isSensible, { error: 'must be a time between 1970 and 9999' });

const date = () => z.iso.date().max(10).refine(isSensible, { error: 'must be a date between 1970 and 9999' });
const dateSentence =
  'must be a date such as 2026-03-01, or a time with its zone such as 2026-03-01T12:00:00Z, between 1970 and 9999';
const instantOrDate = () => z.union([date(), instant()], { error: dateSentence });
const asTimestamp = (timeMs: number) => new Date(Math.min(timeMs, latestMs)).toISOString();

/** The start of a range of time: this moment or later. A plain date begins at its midnight in UTC. */
export const rangeStart = () => instantOrDate().transform((value) => asTimestamp(Date.parse(value)));

/** The end of a range of time: before this moment. A plain date includes its whole day in UTC. */
export const rangeEnd = () =>
  instantOrDate().transform((value) => asTimestamp(Date.parse(value) + (value.length === 10 ? dayMs : 0)));

export const email = () => z.email({ error: 'must be an e-mail address' }).max(254);
export const link = () => z.url().max(2048);
export const sha256 = () =>
  z
    .string()
    .length(64)
    .regex(/^[0-9a-f]{64}$/);

function isTimeZone(value: string): boolean {
  try {
    // Offsets such as +01:00 are valid for Intl, but they are not IANA names and have no daylight saving.
    return /^[A-Za-z]/.test(value) && Boolean(new Intl.DateTimeFormat('en', { timeZone: value }));
  } catch {
    return false;
  }
}

export const timeZone = () =>
  z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, { error: 'must be an IANA time zone name' })
    .refine(isTimeZone, { error: 'must be an IANA time zone name', abort: true });

/** Query strings have no booleans, so text is parsed. The document shows the intended type. */
export const flag = () =>
  z
    .union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')], {
      error: 'must be true or false',
    })
    .meta({ documentedAs: { type: 'boolean' } });

export const pageLimitDefault = 50;
export const pageLimitMax = 200;

/**
 * Query strings have no numbers either: a whole number is written with digits only, without sign, exponent or spaces.
 */
export const queryNumber = ({ min, max, error }: { min: number; max: number; error: string }) =>
  z
    .union([z.number(), z.string().regex(/^\d+$/).transform(numberOfDigits)], { error })
    .pipe(z.int({ error }).min(min, { error }).max(max, { error }));

const numberOfDigits = (digits: string) => Math.min(Number(digits), Number.MAX_SAFE_INTEGER);

/** Larger limits are lowered instead of refused, so that the client still gets a page. */
export const pageLimit = () =>
  queryNumber({ min: 1, max: Number.MAX_SAFE_INTEGER, error: 'must be a whole number of at least 1' })
    .transform((value) => Math.min(value, pageLimitMax))
    .default(pageLimitDefault)
    .meta({
      description: `How many entries a page holds; more than ${pageLimitMax} is lowered to ${pageLimitMax}.`,
      documentedAs: { type: 'integer', format: 'int32', minimum: 1, maximum: 2_147_483_647, default: pageLimitDefault },
    });

/** A cursor may name a document, whose path has up to 6 KiB. */
const cursorLengthMax = 10_000;

export const cursor = () =>
  text({ min: 1, max: cursorLengthMax })
    .optional()
    .describe('The `pagination.nextCursor` of the page before; valid only with the same filters.');

/** The query of every list. */
export const pageQuery = z.object({ limit: pageLimit(), cursor: cursor() });

export const pagination = z
  .object({
    nextCursor: text({ max: cursorLengthMax })
      .nullable()
      .describe('Give it as `cursor` to get the next page; null on the last page.'),
    hasMore: z.boolean().describe('Whether there is a next page.'),
  })
  .meta({ id: 'Pagination', description: 'Where the list goes on.' });
export type Pagination = z.infer<typeof pagination>;

/** A path parameter. */
export const pathId = reference;
