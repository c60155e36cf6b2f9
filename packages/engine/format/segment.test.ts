import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../crypto/block.ts';
import { arbitraryDatabase, testDatabase, testDocument } from '../fixtures/arbitrary-documents.ts';
import { encodeRecords } from '../fixtures/record-batches.ts';
import { decodeIndex } from './index-entries.ts';
import { openSegment, openSegmentIndex, type SealContext, type SegmentPosition, sealSegment } from './segment.ts';
import { segmentContent } from './segment-header.ts';

const context: SealContext = { ownerId: 'bkp_1', dataKey: randomBytes(32), database: testDatabase };
const position: SegmentPosition = {
  content: segmentContent.documents,
  range: 2,
  sequence: 5,
  annex: new Uint8Array(0),
};
const integrityError = expect.objectContaining({ code: 'INTEGRITY_ERROR' });

async function thrownBy(action: () => Promise<unknown>): Promise<unknown> {
  try {
    return { returned: await action() };
  } catch (error) {
    return error;
  }
}

describe('a segment', () => {
  test('returns the records it was made from, and an index that finds each of them', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryDatabase(), async (documents) => {
        const data = encodeRecords(documents);
        const { bytes, descriptor } = await sealSegment(data, position, context);
        const opened = await openSegment(bytes, descriptor, context);
        expect(Buffer.from(opened.data)).toEqual(Buffer.from(data));
        const head = bytes.slice(0, descriptor.headerBytes + descriptor.indexBytes);
        const entries = decodeIndex(
          await openSegmentIndex(head, descriptor, context),
          descriptor.records,
          descriptor.plainBytes,
        );
        expect(entries.paths).toEqual(documents.map(({ path }) => path));
        for (const [index, { bytes: body }] of documents.entries()) {
          const found = data.subarray(entries.offsets[index]! + 5, entries.offsets[index + 1]);
          expect(Buffer.from(found)).toEqual(Buffer.from(body));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('is never sealed twice under the same key, even from the same records', async () => {
    const data = encodeRecords([testDocument('a/b', {})]);
    const [first, second] = [await sealSegment(data, position, context), await sealSegment(data, position, context)];
    expect(first.descriptor.id).not.toBe(second.descriptor.id);
    expect(first.descriptor.sha256).not.toBe(second.descriptor.sha256);
  });

  test('notices every single flipped bit, with and without its hash', async () => {
    const documents = [testDocument('a/b', { x: { stringValue: 'y' } }), testDocument('a/c', {})];
    const { bytes, descriptor } = await sealSegment(encodeRecords(documents), position, context);
    for (let byte = 0; byte < bytes.length; byte += 1) {
      const changed = bytes.slice();
      changed[byte] = changed[byte]! ^ (1 << (byte % 8));
      expect(await thrownBy(() => openSegment(changed, descriptor, context))).toEqual(integrityError);
      const rehashed = { ...descriptor, sha256: await sha256(changed) };
      expect(await thrownBy(() => openSegment(changed, rehashed, context))).toEqual(integrityError);
    }
  });

  test('does not open in another place, in another backup, under another key, cut short or prolonged', async () => {
    const { bytes, descriptor } = await sealSegment(encodeRecords([testDocument('a/b', {})]), position, context);
    const attempts = [
      () => openSegment(bytes, { ...descriptor, range: 1 }, context),
      () => openSegment(bytes, { ...descriptor, sequence: 6 }, context),
      () => openSegment(bytes, descriptor, { ...context, ownerId: 'bkp_2' }),
      () => openSegment(bytes, descriptor, { ...context, dataKey: randomBytes(32) }),
      () => openSegment(bytes, descriptor, { ...context, database: 'projects/other/databases/(default)' }),
      () => openSegment(bytes.slice(0, -1), descriptor, context),
      () => openSegment(Buffer.concat([bytes, Buffer.alloc(1)]), descriptor, context),
    ];
    for (const attempt of attempts) expect(await thrownBy(attempt)).toEqual(integrityError);
  });

  test('refuses records that are out of order, doubled, cut, or of another database', async () => {
    const [first, second] = [testDocument('a/b', {}), testDocument('a/c', {})];
    const foreign = { path: 'a/d', bytes: Buffer.from(second.bytes.map((byte) => (byte === 0x6d ? 0x6e : byte))) };
    for (const documents of [
      [second, first],
      [first, first],
      [first, foreign],
    ]) {
      expect(await thrownBy(() => sealSegment(encodeRecords(documents), position, context))).toEqual(integrityError);
    }
    const cut = encodeRecords([first]).slice(0, -1);
    expect(await thrownBy(() => sealSegment(cut, position, context))).toEqual(integrityError);
  });

  test('counts the documents of each collection, whatever their parents are called', async () => {
    const paths = ['a/1', 'a/1/b/1', 'a/2/b/1', 'a/2/b/2', 'c/1'];
    const { collections } = await sealSegment(
      encodeRecords(paths.map((path) => testDocument(path, {}))),
      position,
      context,
    );
    expect([...collections]).toEqual([
      ['a', 1],
      ['a/*/b', 3],
      ['c', 1],
    ]);
  });
});
