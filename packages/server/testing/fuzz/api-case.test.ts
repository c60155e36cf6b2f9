// @module-tag long
import { type Operation, servedOperations } from '@holdfast/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ApiCase, caseOf } from './api-case.ts';
import type { ApiWorld } from './api-world.ts';

/** Nothing is called here, so none of it has to exist. */
const world = {
  organization: { id: 'org_1' },
  ids: {},
  tokens: {},
  firestoreHost: '127.0.0.1:9',
  moment: '2026-01-01T00:00:00Z',
} as unknown as ApiWorld;
const samplesMax = 60;

test('the fuzz reaches every operation of the contract: it generates data that the schemas accept', () => {
  const uncovered = servedOperations.filter((operation) => !isWithinReach(operation));
  expect(uncovered.map(({ id }) => id)).toEqual([]);
});

/** One after the other: nearly always the first one that should be valid is. */
function isWithinReach(operation: Operation): boolean {
  const cases = caseOf(operation, world);
  for (let seed = 1; seed <= samplesMax; seed += 1) {
    const [one] = fc.sample(cases, { numRuns: 1, seed }) as [ApiCase];
    if (one.care === 'valid' && isTaken(operation, one)) return true;
  }
  return false;
}

function isTaken({ query, body: schema }: Operation, { path, body }: ApiCase): boolean {
  const asked = Object.fromEntries(new URL(path, 'http://localhost').searchParams);
  return (query?.safeParse(asked).success ?? true) && (schema?.safeParse(body).success ?? true);
}
