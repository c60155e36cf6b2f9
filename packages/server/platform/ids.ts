import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

export type IdPrefix =
  | 'org'
  | 'usr'
  | 'prj'
  | 'dst'
  | 'bkp'
  | 'rst'
  | 'sch'
  | 'run'
  | 'whk'
  | 'dlv'
  | 'evt'
  | 'inv'
  | 'sa'
  | 'aud'
  | 'drl'
  | 'ses'
  | 'key'
  | 'req'
  | 'tsk';

/**
 * Makes ids such as `bkp_01K9…`: 48 bits of milliseconds, then 80 random bits, so they sort by time and cannot be
 * guessed.
 */
export interface Ids {
  /** `chosen` is the part after the prefix, if it was chosen before. */
  next(prefix: IdPrefix, chosen?: string): string;
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const randomBytesPerId = 10;
const pool = Buffer.alloc(randomBytesPerId * 256);
let poolOffset = pool.length;

export function createIds(clock: Clock): Ids {
  return { next: (prefix, chosen = idPartAt(clock.now())) => `${prefix}_${chosen}` };
}

/** The part after the prefix of an id made at this time. */
export function idPartAt(instant: Date): string {
  return `${encodeTime(instant.getTime())}${encodeRandom()}`;
}

/** Every id made at this time or later sorts after it. */
export function firstIdAt(prefix: IdPrefix, instant: Date): string {
  return `${prefix}_${encodeTime(instant.getTime())}`;
}

function encodeTime(milliseconds: number): string {
  let text = '';
  let rest = milliseconds;
  for (let i = 0; i < 10; i++) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** 80 bits as 16 characters of 5 bits, from a pool because asking the kernel per id is slow. */
function encodeRandom(): string {
  if (poolOffset + randomBytesPerId > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  let text = '';
  for (let half = 0; half < 2; half++) {
    let value = pool.readUIntBE(poolOffset, 5);
    poolOffset += 5;
    for (let i = 0; i < 8; i++) {
      text += alphabet[value % 32];
      value = Math.floor(value / 32);
    }
  }
  return text;
}
