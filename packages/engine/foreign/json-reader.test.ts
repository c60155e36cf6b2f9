import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonReader } from './json-reader.ts';
import { NumberText } from './number-text.ts';

/** A reader of a text that comes in pieces of so many bytes. */
function readerOf(text: string | Uint8Array, pieceBytes = 7): JsonReader {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  let at = 0;
  const next = () => {
    if (at >= bytes.length) return undefined;
    at += pieceBytes;
    return bytes.subarray(at - pieceBytes, at);
  };
  return new JsonReader(next, 'file.json');
}

function valueIn(text: string | Uint8Array, pieceBytes?: number): unknown {
  const reader = readerOf(text, pieceBytes);
  const value = reader.value();
  reader.finish();
  return value;
}

/** Numbers as numbers, to compare with what JSON.parse makes. */
const plain = (value: unknown): unknown => {
  if (value instanceof NumberText) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
};

test('any JSON reads as JSON.parse reads it, wherever the pieces end', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 1, max: 40 }), (text, pieceBytes) => {
      expect(plain(valueIn(text, pieceBytes))).toEqual(plain(JSON.parse(text)));
    }),
  );
});

test('any text that JSON.parse refuses is refused as broken, nothing else', () => {
  const almost = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '0', '-', 'e', '\u0001', 'nul'))
    .map(
      ([text, at, rubbish]) =>
        text.slice(0, at % (text.length + 1)) + rubbish + text.slice((at % (text.length + 1)) + 1),
    );
  fc.assert(
    fc.property(almost, (text) => {
      const outcome = (read: () => unknown): unknown => {
        try {
          return plain(read());
        } catch (error) {
          // JSON.parse lets the last one win.
          if ((error as Error).message.includes('stands twice')) return plain(JSON.parse(text));
          return (error as { code?: string }).code === 'VALIDATION_ERROR' || error instanceof SyntaxError
            ? 'broken'
            : error;
        }
      };
      expect(outcome(() => valueIn(text))).toEqual(outcome(() => JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
});

describe('a file that is made to hurt is refused', () => {
  test.each([
    ['a number of four million digits', `{"n":${'9'.repeat(4_000_000)}}`, 'digits'],
    ['arrays a million deep', '['.repeat(1_000_000), 'levels deep'],
    ['objects a million deep', '{"a":'.repeat(1_000_000), 'levels deep'],
    ['millions of values in one place', `[${'1,'.repeat(2_000_000)}1]`, 'values'],
    ['a text of many MiB', `"${'x'.repeat(7_000_000)}"`, 'a text has more than'],
  ])('%s', (_what, text, reason) => {
    const startedAtMs = performance.now();
    expect(() => valueIn(text, 65_536)).toThrow(reason);
    expect(performance.now() - startedAtMs).toBeLessThan(5000);
  });
});

test('what is skipped takes no memory and is checked all the same', () => {
  expect(() => readerOf('{"a":[1,2}').skip()).toThrow('not readable');
  const many = readerOf(`[${'[1],'.repeat(600_000)}[]]`, 65_536);
  many.skip();
  many.finish();
});
