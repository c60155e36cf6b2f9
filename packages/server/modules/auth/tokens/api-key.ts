import { createHash, randomBytes } from 'node:crypto';

const prefix = 'fb_sa_';
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomCharacters = 27;
const checksumCharacters = 6;
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomCharacters + checksumCharacters}}$`);

/** 160 random bits in base62, then a checksum that detects a mistyped or leaked key without a look-up. */
export function createApiKey(): string {
  const random = toBase62(BigInt(`0x${randomBytes(20).toString('hex')}`), randomCharacters);
  return `${prefix}${random}${checksum(random)}`;
}

export function looksLikeApiKey(token: string): boolean {
  return token.startsWith(prefix);
}

export function isWellFormedApiKey(token: string): boolean {
  if (!pattern.test(token)) return false;
  const random = token.slice(prefix.length, -checksumCharacters);
  return checksum(random) === token.slice(-checksumCharacters);
}

/** Keys have 160 random bits, so a plain hash cannot be reversed by guessing. */
export function hashApiKey(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function checksum(random: string): string {
  const digest = createHash('sha256').update(`${prefix}${random}`).digest();
  return toBase62(BigInt(digest.readUIntBE(0, 6)), checksumCharacters);
}

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = base62[Number(rest % 62n)] + text;
  return text;
}
