// @module-tag long
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testDatabase } from '../fixtures/arbitrary-documents.ts';
import { isEngineError } from '../ports/errors.ts';
import { readVersion1Json } from './version1-json.ts';

/** Everything that was read from a text, or undefined if it was refused; any other end is a fault. */
function read(text: string): { content: string; warnings: string[] } | undefined {
  const pieces = [Buffer.from(text)];
  const warnings: string[] = [];
  const parts: string[] = [];
  try {
    const onWarning = (warning: string) => void warnings.push(warning);
    for (const { path, body } of readVersion1Json(() => pieces.shift(), 'file.json', testDatabase, onWarning))
      parts.push(path, Buffer.from(body).toString('utf8'));
  } catch (error) {
    if (isEngineError(error, 'VALIDATION_ERROR')) return undefined;
    throw error;
  }
  return { content: parts.join('\n'), warnings };
}

const words = [
  'collections',
  '__collections__',
  'subcollections',
  'subCollections',
  'subCollection',
  'documents',
  'data',
  'metadata',
];
const key = fc.oneof(fc.constantFrom(...words), fc.constantFrom('users', 'ada', 'id', 'name', 'path', 'exists', 'x'));
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 7, depthSize: 'xlarge' },
    fc.constant('leaf'),
    { weight: 6, arbitrary: fc.dictionary(key, tie('tree'), { maxKeys: 3, minKeys: 1 }) },
    { weight: 1, arbitrary: fc.array(tie('tree'), { maxLength: 2 }) },
  ),
}));
/** What begins like a file of one of the shapes, and may go on in any way. */
const file = fc.oneof(
  fc.dictionary(key, fc.dictionary(key, fc.dictionary(key, tree, { maxKeys: 3 }), { maxKeys: 2 }), { maxKeys: 2 }),
  fc.record(
    { collections: fc.record({ users: fc.record({ documents: fc.record({ ada: tree }) }) }), x: tree },
    {
      requiredKeys: ['collections'],
    },
  ),
  fc
    .tuple(fc.dictionary(key, tree, { maxKeys: 2 }), fc.dictionary(key, tree, { maxKeys: 2 }))
    .map(([list, document]) => ({
      collections: [{ ...list, id: 'users', documents: [{ data: {}, ...document, id: 'ada' }] }],
    })),
);

/** Each leaf gets a text of its own. */
function numbered(given: unknown): { text: string; leaves: string[] } {
  const leaves: string[] = [];
  const text = JSON.stringify(given, (_name, value: unknown) => {
    if (value !== 'leaf') return value;
    leaves.push(`leaf-${leaves.length}-`);
    return leaves.at(-1);
  });
  return { text, leaves };
}

test('whatever keys a file has, nothing in it is left out without a word', () => {
  let taken = 0;
  fc.assert(
    fc.property(file, (given) => {
      const { text, leaves } = numbered(given);
      const found = read(text);
      if (found === undefined || found.warnings.length > 0) return;
      taken += 1;
      expect(leaves.filter((leaf) => !found.content.includes(leaf))).toEqual([]);
    }),
    { numRuns: 3000 },
  );
  expect(taken).toBeGreaterThan(100);
});
