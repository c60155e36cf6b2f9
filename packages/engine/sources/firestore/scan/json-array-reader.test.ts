import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeDocument } from '../../../format/document-json.ts';
import { JsonArrayReader } from './json-array-reader.ts';
import { NameDocumentEncoder } from './name-document.ts';

/** What a reader makes of these bytes, cut into pieces of these sizes over and over. */
function read(bytes: Buffer, sizes: readonly number[] = [bytes.length]): unknown[] {
  const elements: unknown[] = [];
  const reader = new JsonArrayReader((element) => elements.push(element));
  for (let from = 0, piece = 0; from < bytes.length; piece += 1) {
    const size = Math.max(1, sizes[piece % sizes.length]!);
    reader.push(bytes.subarray(from, from + size));
    from += size;
  }
  reader.end();
  return elements;
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', 'ü', '😀', '\n') }),
);
const element = fc.dictionary(
  text,
  fc.oneof(text, fc.integer(), fc.constant(null), fc.array(text), fc.dictionary(text, text)),
);
const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
/** Characters that are not ASCII as they are, or all of them escaped. */
const written = (value: unknown, isEscaped: boolean) => {
  const json = JSON.stringify(value);
  if (!isEscaped) return json;
  return json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
};
const arrays = fc
  .tuple(fc.array(element, { maxLength: 8 }), fc.array(space, { minLength: 1 }), fc.boolean())
  .map(([elements, spaces, isEscaped]) => {
    const gap = (index: number) => spaces[index % spaces.length]!;
    const inner = elements.map((each, index) => `${gap(index)}${written(each, isEscaped)}${gap(index + 1)}`).join(',');
    return { elements, bytes: Buffer.from(`${gap(0)}[${inner}${gap(2)}]${gap(3)}`) };
  });

describe('an array that comes in pieces', () => {
  test('has the same elements however it is cut, spaced and escaped', () => {
    fc.assert(
      fc.property(arrays, sizes, ({ elements, bytes }, cuts) => {
        expect(read(bytes, cuts)).toEqual(JSON.parse(JSON.stringify(elements)));
      }),
      { numRuns: 500 },
    );
  });

  test('that is cut anywhere is never taken for a whole one', () => {
    fc.assert(
      fc.property(arrays, fc.nat(), sizes, ({ bytes }, at, cuts) => {
        const end = at % (bytes.lastIndexOf(']') + 1);
        expect(() => read(bytes.subarray(0, end), cuts)).toThrow('UNAVAILABLE');
      }),
    );
  });

  test.each([
    '<html>',
    '{}',
    '[1]',
    '["a"]',
    '[{}{}]',
    '[{},]',
    '[,{}]',
    '[{}]]',
    '[{}] x',
    '[{"a":}]',
    '[null]',
    'null',
  ])('%s is none, and no data', (wrong) => expect(() => read(Buffer.from(wrong), [1])).toThrow('INTERNAL'));

  test.each([
    ['spaces', '[', ' '],
    ['a string', '[{"a":"', 'x'],
    ['braces', '[', '{"a":'],
    ['escapes', '[{"a":"', '\\\\'],
  ])('of %s without end is given up after a megabyte', (_, start, more) => {
    const reader = new JsonArrayReader(() => undefined);
    reader.push(Buffer.from(start));
    const piece = Buffer.from(more.repeat(10_000));
    let bytes = 0;
    const pushAll = () => {
      for (; bytes < 10_000_000; bytes += piece.length) reader.push(piece);
    };
    expect(pushAll).toThrow('does not end');
    expect(bytes).toBeLessThan(1_200_000);
  });
});

describe('a document of name and times', () => {
  const second = fc.integer({ min: 0, max: 4_000_000_000 });
  const time = fc
    .tuple(second, fc.stringMatching(/^\d{0,9}$/), fc.constantFrom('Z', 'Z', '+02:00', '-11:30'))
    .map(([seconds, digits, zone]) => {
      const day = new Date((seconds + 100_000) * 1000).toISOString().slice(0, 19);
      return `${day}${digits === '' ? '' : `.${digits}`}${zone}`;
    });

  test('has the bytes of its protobuf message, to the nanosecond', { tags: 'long' }, () => {
    const encoder = new NameDocumentEncoder();
    const names = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
      fc.constant('ü'.repeat(20_000)),
    );
    const times = fc.option(time, { nil: undefined });
    fc.assert(
      fc.property(names, times, times, (name, createTime, updateTime) => {
        const length = encoder.encode({ name, createTime, updateTime });
        const document = { name, fields: {}, ...(createTime && { createTime }), ...(updateTime && { updateTime }) };
        expect(encoder.bytes.subarray(0, length).equals(encodeDocument(document))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [{ updateTime: '2026-01-01T00:00:00Z' }],
    [{ name: '' }],
    [{ name: 7 }],
    [{ name: 'a\ud800' }],
    [{ name: 'a', updateTime: 'yesterday' }],
    [{ name: 'a', updateTime: 5 }],
    [{ name: 'a', updateTime: '1950-01-01T00:00:00Z' }],
  ])('%j is none', (wrong) => expect(() => new NameDocumentEncoder().encode(wrong)).toThrow('INTERNAL'));
});
