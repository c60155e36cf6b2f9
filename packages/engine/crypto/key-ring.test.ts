import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { KeyRing, newDataKey } from './key-ring.ts';

const key = new Uint8Array(randomBytes(32));

test('a data key comes back under the key that wrapped it', async () => {
  const dataKey = newDataKey();
  const envelope = await new KeyRing([{ key }]).wrap('bkp_1', dataKey);
  expect(await new KeyRing([{ key: randomBytes(32) }, { key }]).unwrap('bkp_1', envelope)).toEqual(dataKey);
});

test('a data key comes back under the passphrase that wrapped it, however its accents are composed', async () => {
  const dataKey = newDataKey();
  const envelope = await new KeyRing([{ passphrase: 'caf\u00e9' }]).wrap('bkp_1', dataKey);
  expect(envelope.iterations).toBe(600_000);
  expect(await new KeyRing([{ passphrase: 'cafe\u0301' }]).unwrap('bkp_1', envelope)).toEqual(dataKey);
});

test('another key and another passphrase are refused as wrong keys', async () => {
  const envelope = await new KeyRing([{ key }]).wrap('bkp_1', newDataKey());
  const refused = expect.objectContaining({ code: 'DECRYPTION_ERROR' });
  await expect(new KeyRing([{ key: randomBytes(32) }]).unwrap('bkp_1', envelope)).rejects.toEqual(refused);
  await expect(new KeyRing([{ passphrase: 'x' }]).unwrap('bkp_1', envelope)).rejects.toEqual(refused);
});

test('what the key at hand wrapped and no longer opens is told as damaged, and another backup id does not open it', async () => {
  const refused = expect.objectContaining({ code: 'INTEGRITY_ERROR' });
  for (const secret of [{ key }, { passphrase: 'x' }]) {
    const ring = new KeyRing([{ key: randomBytes(32) }, secret]);
    const envelope = await new KeyRing([secret]).wrap('bkp_1', newDataKey());
    const wrapped = `${envelope.wrapped.startsWith('0') ? '1' : '0'}${envelope.wrapped.slice(1)}`;
    await expect(ring.unwrap('bkp_1', { ...envelope, wrapped })).rejects.toEqual(refused);
    await expect(ring.unwrap('bkp_2', envelope)).rejects.toEqual(refused);
  }
});

test('a changed commitment is noticed before anything is decrypted with the key', async () => {
  const ring = new KeyRing([{ key }]);
  const envelope = await ring.wrap('bkp_1', newDataKey());
  const changed = { ...envelope, commitment: '00'.repeat(32) };
  await expect(ring.unwrap('bkp_1', changed)).rejects.toEqual(expect.objectContaining({ code: 'INTEGRITY_ERROR' }));
});

test('derivation parameters outside the allowed band are refused without deriving', async () => {
  const ring = new KeyRing([{ passphrase: 'x' }]);
  const envelope = await ring.wrap('bkp_1', newDataKey());
  for (const iterations of [1, 99_999, 10_000_001, 1e12, 1.5]) {
    const rejected = ring.unwrap('bkp_1', { ...envelope, iterations });
    await expect(rejected).rejects.toEqual(expect.objectContaining({ code: 'INTEGRITY_ERROR' }));
  }
});

test('two wraps of one data key share no salt, iv or ciphertext', async () => {
  const ring = new KeyRing([{ key }]);
  const dataKey = newDataKey();
  const [first, second] = [await ring.wrap('bkp_1', dataKey), await ring.wrap('bkp_1', dataKey)];
  expect(first.wrapSalt).not.toBe(second.wrapSalt);
  expect(first.iv).not.toBe(second.iv);
  expect(first.wrapped).not.toBe(second.wrapped);
});
