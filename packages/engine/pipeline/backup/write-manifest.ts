import { sha256 } from '../../crypto/block.ts';
import type { Envelope } from '../../crypto/envelope.ts';
import { type SegmentDescriptor, storedBytesOf } from '../../format/descriptor.ts';
import type { ManifestBody, ShardDescriptor } from '../../format/manifest-body.ts';
import { manifestContent, sealManifest } from '../../format/manifest-object.ts';
import { backupPrefix, manifestKey, shardKey } from '../../format/object-keys.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import { EngineError } from '../../ports/errors.ts';
import { assertOrdered } from '../view/backup-reader.ts';

const segmentsPerShard = 1024;

export interface WriteManifestOptions {
  readonly store: BlobStore;
  readonly dataKey: Uint8Array;
  readonly envelope: Envelope;
  readonly segmentsPerShard?: number;
  readonly trigger?: string;
  /** The log that the backup belongs to; absent when nobody knows. */
  readonly log?: ManifestBody['log'];
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly signal?: AbortSignal;
}

export interface WrittenManifest {
  readonly body: ManifestBody;
  readonly manifestSha256: string;
  /** All objects of the backup together. */
  readonly storedBytes: number;
}

/** The last step of a backup. Nothing becomes visible unless every segment is in the store in its full length. */
export async function writeManifest(
  content: Omit<ManifestBody, 'shards' | 'segments'>,
  segments: readonly SegmentDescriptor[],
  options: WriteManifestOptions,
): Promise<WrittenManifest> {
  const { store, dataKey, envelope, lock, signal } = options;
  const put: PutOptions = { ...(lock ? { lock } : {}), ...(signal ? { signal } : {}) };
  assertOrdered(content.backupId, segments);
  await assertStored(content.backupId, [...segments, ...(content.authUsers?.segments ?? [])], store, signal);
  const perShard = options.segmentsPerShard ?? segmentsPerShard;
  const shards: ShardDescriptor[] = [];
  for (let start = 0; segments.length > perShard && start < segments.length; start += perShard) {
    shards.push(await writeShard(content.backupId, segments.slice(start, start + perShard), options, put));
  }
  const body: ManifestBody = { ...content, ...originOf(options), segments: shards.length > 0 ? [] : segments, shards };
  const clear = { ownerId: body.backupId, createdAt: body.createdAt, envelope };
  const sealed = await sealManifest(body, { content: manifestContent.root, ownerId: body.backupId, dataKey, clear });
  await store.put(manifestKey(body.backupId), sealed.bytes, { ...put, ifAbsent: true });
  const shardBytes = shards.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  return {
    body,
    manifestSha256: sealed.bodySha256,
    storedBytes: body.counts.storedBytes + shardBytes + sealed.bytes.length,
  };
}

/** What the service says about the origin of a backup. */
export function originOf({ trigger, log }: Pick<WriteManifestOptions, 'trigger' | 'log'>) {
  return { ...(trigger === undefined ? {} : { trigger }), ...(log === undefined ? {} : { log }) };
}

async function writeShard(
  backupId: string,
  segments: readonly SegmentDescriptor[],
  { store, dataKey }: WriteManifestOptions,
  put: PutOptions,
): Promise<ShardDescriptor> {
  const sealed = await sealManifest({ segments }, { content: manifestContent.shard, ownerId: backupId, dataKey });
  await store.put(shardKey(backupId, sealed.objectId), sealed.bytes, put);
  return {
    id: sealed.objectId,
    sha256: await sha256(sealed.bytes),
    storedBytes: sealed.bytes.length,
    segments: segments.length,
    firstPath: segments[0]!.firstPath,
    lastPath: segments.at(-1)!.lastPath,
  };
}

/** One listing instead of one request per segment. */
async function assertStored(
  backupId: string,
  segments: readonly SegmentDescriptor[],
  store: BlobStore,
  signal: AbortSignal | undefined,
): Promise<void> {
  const prefix = `${backupPrefix(backupId)}segments/`;
  const missing = new Map(segments.map((descriptor) => [`${prefix}${descriptor.id}`, storedBytesOf(descriptor)]));
  if (missing.size === 0) return;
  for await (const { key, size } of store.list(prefix, signal ? { signal } : {})) {
    if (missing.get(key) === size) missing.delete(key);
  }
  if (missing.size === 0) return;
  throw new EngineError(
    'STORAGE_UPLOAD_ERROR',
    `${missing.size} segments of ${backupId} are not in the store as they were written.`,
    {
      details: { backupId, missingObjects: [...missing.keys()].slice(0, 10) },
    },
  );
}
