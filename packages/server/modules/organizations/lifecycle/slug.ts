import { randomInt } from 'node:crypto';

const baseCharactersMax = 50;
/** Letters that Unicode does not decompose into a base letter and a mark. */
const spelledOut: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th' };
const suffixAlphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A name in lower-case ASCII with single hyphens, or `fallback` when no letter or digit is left. */
export function slugOf(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþ]/g, (letter) => spelledOut[letter] ?? '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, baseCharactersMax)
    .replace(/^-+|-+$/g, '');
  return slug.length >= 2 ? slug : fallback;
}

/**
 * For a slug that is taken. Each attempt adds more random characters, so that many equal names find free slugs quickly.
 */
export function withSuffix(slug: string, attempt: number): string {
  const length = Math.min(3 + attempt, 10);
  const suffix = Array.from({ length }, () => suffixAlphabet[randomInt(suffixAlphabet.length)]).join('');
  return `${slug}-${suffix}`;
}
