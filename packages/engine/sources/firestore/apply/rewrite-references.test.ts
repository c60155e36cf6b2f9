import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryFields } from '../../../fixtures/arbitrary-documents.ts';
import { decodeDocument, encodeDocument, type JsonFields, type JsonValue } from '../../../format/document-json.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { ReferenceRewriter } from './rewrite-references.ts';

const from = 'projects/demo/databases/(default)';
const to = 'projects/a-much-longer-project-name/databases/elsewhere';

function contentOf(fields: JsonFields): Buffer {
  const bytes = Buffer.from(encodeDocument({ name: 'x/documents/a/b', fields }));
  const slices = emptySlices();
  sliceDocument(bytes, 0, bytes.length, slices);
  return bytes.subarray(slices.contentStart, slices.contentEnd);
}

function rewritten(content: Buffer, rewriter: ReferenceRewriter): Buffer {
  return rewriter.rewrite(content, 0, content.length) ?? content;
}

/** The same written over JSON, the slow way. */
function expected(value: JsonValue): JsonValue {
  if ('referenceValue' in value) {
    const { referenceValue } = value;
    return {
      referenceValue: referenceValue.startsWith(`${from}/documents/`)
        ? to + referenceValue.slice(from.length)
        : referenceValue,
    };
  }
  if ('arrayValue' in value && value.arrayValue.values !== undefined) {
    return { arrayValue: { values: value.arrayValue.values.map(expected) } };
  }
  if ('mapValue' in value && value.mapValue.fields !== undefined)
    return { mapValue: { fields: expectedFields(value.mapValue.fields) } };
  return value;
}

function expectedFields(fields: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, expected(value)]));
}

describe('references', () => {
  test('move to the target wherever they stand, and every other byte stays what it was', () => {
    fc.assert(
      fc.property(arbitraryFields, (fields) => {
        const moved = rewritten(contentOf(fields), new ReferenceRewriter(from, to));
        expect(moved.equals(contentOf(expectedFields(fields)))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test('there and back again gives the same bytes', () => {
    fc.assert(
      fc.property(arbitraryFields, (fields) => {
        const there = rewritten(contentOf(fields), new ReferenceRewriter(from, to));
        expect(rewritten(there, new ReferenceRewriter(to, from)).equals(contentOf(fields))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('into other databases, and text that only looks like a reference, stay', () => {
    const fields: JsonFields = {
      near: { referenceValue: `${from}x/documents/a/b` },
      other: { referenceValue: 'projects/demo/databases/other/documents/a/b' },
      text: { stringValue: `${from}/documents/a/b` },
      own: { referenceValue: `${from}/documents/a/b` },
    };
    expect(decodeDocument(rewritten(contentOf(fields), new ReferenceRewriter(from, to))).fields).toEqual({
      ...fields,
      own: { referenceValue: `${to}/documents/a/b` },
    });
  });

  test('documents that lie behind one another in one buffer are each looked at', () => {
    const parts: JsonFields[] = [
      { text: { stringValue: 'x' } },
      { own: { referenceValue: `${from}/documents/a/b` } },
      { text: { stringValue: 'y' } },
    ];
    const contents = parts.map((fields) => contentOf(fields));
    const joined = Buffer.concat(contents);
    const rewriter = new ReferenceRewriter(from, to);
    let offset = 0;
    const changed = contents.map((content) => {
      const result = rewriter.rewrite(joined, offset, offset + content.length) !== undefined;
      offset += content.length;
      return result;
    });
    expect(changed).toEqual([false, true, false]);
  });
});
