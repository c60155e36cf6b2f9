import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { codec, compress, sealBlock } from '../crypto/block.ts';
import { deriveObjectKey, tagBytes } from '../crypto/derive.ts';
import { parseDescriptor } from './descriptor.ts';
import { parseManifestBody } from './manifest-body.ts';
import { ManifestObject, manifestContent, sealManifest } from './manifest-object.ts';
import { additionalData } from './segment.ts';
import { formatVersion } from './segment-header.ts';

const ownerId = 'hostile';
const dataKey = new Uint8Array(randomBytes(32));

/** Sealed by somebody who has the key: only what it unpacks to is not what it says. */
async function sealedWith(plain: Uint8Array, claimedLength: number): Promise<Uint8Array> {
  const honest = await sealManifest({}, { content: manifestContent.shard, ownerId, dataKey });
  const header = new Uint8Array(honest.bytes.subarray(0, 48));
  const packed = await compress(plain, codec.zstd);
  const view = new DataView(header.buffer);
  view.setUint32(28, claimedLength, true);
  view.setUint32(32, packed.length + tagBytes, true);
  const objectKey = deriveObjectKey(dataKey, header.slice(8, 24), ownerId);
  return Buffer.concat([header, await sealBlock(objectKey, 1, additionalData(header, ownerId, 1), packed)]);
}

const emptyObjects = new TextEncoder().encode(`[${'{},'.repeat(3_000_000)}{}]`);

test.each([
  ['unpacks to far more than it says', new Uint8Array(256 * 1024 * 1024), 1000],
  ['says that it unpacks to gigabytes', new Uint8Array(1000), 0xffffffff],
  ['holds no JSON', new TextEncoder().encode('rubbish'), 7],
  ['holds millions of values', emptyObjects, emptyObjects.length],
  ['is larger than any of ours', new Uint8Array(17 * 1024 * 1024).fill(0x20), 17 * 1024 * 1024],
])('a sealed manifest that %s is damaged, nothing else', async (_what, plain, claimedLength) => {
  const before = process.memoryUsage().rss;
  const object = new ManifestObject(await sealedWith(plain, claimedLength));
  await expect(object.open(ownerId, dataKey)).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  expect(process.memoryUsage().rss - before).toBeLessThan(600 * 1024 * 1024);
});

const descriptor = {
  ...{ id: 'a'.repeat(32), sha256: 'b'.repeat(64), firstPath: 'a/b', lastPath: 'a/c' },
  ...{ content: 1, range: 0, sequence: 0, records: 2, puts: 1, deletes: 1 },
  ...{ headerBytes: 1, indexBytes: 1, dataBytes: 1, plainBytes: 1 },
};
const body = {
  ...{ formatVersion, backupId: 'b', database: 'd', createdAt: '', completedAt: '', snapshotTime: '', type: 'full' },
  counts: { documents: 0, puts: 0, deletes: 0, segments: 0, plainBytes: 0, storedBytes: 0 },
  scope: { collections: 'all', includeSubcollections: true, excludeCollections: [] },
  ...{ parent: null, segments: [descriptor], shards: [], ranges: [], collections: [], warnings: [], authUsers: null },
};

test('what is sound is taken', () => {
  expect(parseDescriptor(descriptor)).toBe(descriptor);
  expect(parseManifestBody(body)).toBe(body);
});

test.each([[[{ toString: 0 }]], [['a'.repeat(32)]], [{ toString: null, valueOf: null }], [null], [7]])(
  'an id or a checksum that is %j is damaged, nothing else',
  (value) => {
    for (const field of ['id', 'sha256'])
      expect(() => parseDescriptor({ ...descriptor, [field]: value })).toThrow(
        expect.objectContaining({ code: 'INTEGRITY_ERROR' }),
      );
  },
);

test.each([[null], [[]], [{}], [{ ...body.scope, collections: 7 }], [{ ...body.scope, documents: [{}] }]])(
  'a scope that is %j is damaged, nothing else',
  (scope) => {
    const parse = () => parseManifestBody({ ...body, scope });
    expect(parse).toThrow(expect.objectContaining({ code: 'INTEGRITY_ERROR' }));
  },
);
