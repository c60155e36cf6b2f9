import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { testDatabase, testDocument } from '../../fixtures/arbitrary-documents.ts';
import { encodeRecords } from '../../fixtures/record-batches.ts';
import { segmentContent } from '../../format/segment-header.ts';
import { SegmentCodec } from './segment-codec.ts';

const context = { ownerId: 'bkp_1', dataKey: randomBytes(32), database: testDatabase };
const position = { content: segmentContent.documents, range: 0, sequence: 0, annex: new Uint8Array(0) };
const long = encodeRecords(
  Array.from({ length: 4 }, (_, index) =>
    testDocument(`a/${index}`, { x: { stringValue: randomBytes(500_000).toString('hex') } }),
  ),
);
const short = encodeRecords([testDocument('a/b', {})]);

/** In which order the work of many seals and of one open behind them is done. */
async function orderOf(codec: SegmentCodec): Promise<string[]> {
  const { bytes, descriptor } = await codec.seal(short, position, context);
  const order: string[] = [];
  const seals = Array.from({ length: 8 }, async () => {
    await codec.seal(long, position, context);
    order.push('seal');
  });
  const open = codec.open(bytes, descriptor, context).then(() => order.push('open'));
  await Promise.all([...seals, open]);
  return order;
}

test('while somebody waits for an answer, what is opened for it finds a place however much is being sealed', async () => {
  let isSomebodyWaiting = true;
  const codec = new SegmentCodec({ isSomebodyWaiting: () => isSomebodyWaiting });
  expect((await orderOf(codec)).indexOf('open')).toBe(0);
  isSomebodyWaiting = false;
  expect((await orderOf(codec)).indexOf('open')).toBeGreaterThan(0);
});
