// @module-tag long
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { deriveKey, newDerivation } from './passphrase.ts';

const derivation = { ...newDerivation(), iterations: 100_000 };

/** The organizations in the order in which their keys were ready. */
async function derive(organizationIds: readonly string[], beside: (ended: readonly string[]) => Promise<void>) {
  const ended: string[] = [];
  const derived = Promise.all(
    organizationIds.map(async (id) => {
      await deriveKey(id, 'a passphrase', derivation);
      ended.push(id);
    }),
  );
  await beside(ended);
  await derived;
  return ended;
}

test('many derivations leave threads for other work, such as opening connections to the database', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `org_${index}`);
  await derive(ids, async (ended) => {
    // As short as a password check, on the same threads.
    await promisify(pbkdf2)('', '', 1, 32, 'sha256');
    expect(ended.length).toBeLessThan(3);
  });
});

test('an organization with many derivations does not delay another with one', async () => {
  const ended = await derive(['org_A', 'org_A', 'org_A', 'org_A', 'org_A', 'org_B'], async () => undefined);
  expect(ended.indexOf('org_B')).toBeLessThan(3);
});
