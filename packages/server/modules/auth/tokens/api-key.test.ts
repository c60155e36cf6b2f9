import { expect, test } from 'vitest';
import { createApiKey, isWellFormedApiKey, looksLikeApiKey } from './api-key.ts';

test('a key has its prefix, 160 random bits and a checksum, and no two are alike', () => {
  const keys = Array.from({ length: 1000 }, createApiKey);
  expect(new Set(keys).size).toBe(1000);
  for (const key of keys) expect(key).toMatch(/^fb_sa_[0-9A-Za-z]{33}$/);
  expect(keys.every(isWellFormedApiKey)).toBe(true);
});

test('any changed character is detected without a look-up', () => {
  const key = createApiKey();
  for (let index = 6; index < key.length; index++) {
    const changed = `${key.slice(0, index)}${key[index] === 'a' ? 'b' : 'a'}${key.slice(index + 1)}`;
    expect(looksLikeApiKey(changed)).toBe(true);
    expect(isWellFormedApiKey(changed)).toBe(false);
  }
  for (const wrong of ['', 'fb_sa_', `${key}a`, key.slice(0, -1), key.toUpperCase()])
    expect(isWellFormedApiKey(wrong)).toBe(false);
});
