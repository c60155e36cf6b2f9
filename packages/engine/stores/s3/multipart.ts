import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { isEngineError } from '../../ports/index.ts';
import { AttemptError, conflict } from '../attempt.ts';
import { retrying } from '../retry.ts';
import type { S3Bucket } from './bucket.ts';

interface PartsPlan {
  /** Address, metadata and lock of the object. */
  about: { Bucket: string; Key: string };
  conditions: { IfNoneMatch?: string; IfMatch?: string };
  partBytes: number;
  signal: AbortSignal | undefined;
}

const abandonTimeoutMs = 5000;
const partsInFlight = 4;
const partsMax = 10_000;

/**
 * Uploads in parts, retries each part by itself, and returns the etag. Nothing is visible before the last request; if
 * its answer is lost, the error says that the upload may have happened.
 */
export async function putInParts(store: S3Bucket, key: string, bytes: Uint8Array, plan: PartsPlan): Promise<string> {
  const { about, signal } = plan;
  const context = { policy: store.retryPolicy, signal };
  const ChecksumAlgorithm = store.kind === 's3' ? { ChecksumAlgorithm: 'SHA256' as const } : {};
  const created = await retrying(context, () =>
    store.attempt(key, signal, (call) =>
      store.client.send(new CreateMultipartUploadCommand({ ...about, ...ChecksumAlgorithm }), call),
    ),
  );
  const upload = { Bucket: about.Bucket, Key: about.Key, UploadId: created.UploadId };
  try {
    const parts = await uploadParts(store, key, bytes, { ...plan, upload });
    return await complete(store, key, upload, parts, plan);
  } catch (error) {
    // A caller that was told to stop does not wait for a service that never answers.
    await abandon(store, key, upload, plan.signal?.aborted ? AbortSignal.timeout(abandonTimeoutMs) : undefined);
    throw error;
  }
}

type UploadAddress = { Bucket: string; Key: string; UploadId: string | undefined };

async function uploadParts(
  store: S3Bucket,
  key: string,
  bytes: Uint8Array,
  plan: PartsPlan & { upload: UploadAddress },
): Promise<CompletedPart[]> {
  const partBytes = Math.max(plan.partBytes, Math.ceil(bytes.length / partsMax));
  const count = Math.ceil(bytes.length / partBytes);
  const parts: CompletedPart[] = new Array(count);
  const stop = new AbortController();
  const signal = plan.signal ? AbortSignal.any([plan.signal, stop.signal]) : stop.signal;
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      const part = bytes.subarray(index * partBytes, (index + 1) * partBytes);
      parts[index] = await uploadPart(store, key, plan.upload, index + 1, part, signal);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(partsInFlight, count) }, work));
  } catch (error) {
    stop.abort();
    throw error;
  }
  return parts;
}

async function uploadPart(
  store: S3Bucket,
  key: string,
  upload: UploadAddress,
  PartNumber: number,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<CompletedPart> {
  const checksum = store.checksumOf(bytes, createHash('sha256').update(bytes).digest());
  const output = await retrying({ policy: store.retryPolicy, signal }, () =>
    store.attempt(
      key,
      signal,
      (call) => store.client.send(new UploadPartCommand({ ...upload, PartNumber, Body: bytes, ...checksum }), call),
      bytes.length,
    ),
  );
  return { PartNumber, ETag: output.ETag, ...('ChecksumSHA256' in checksum && checksum) };
}

async function complete(
  store: S3Bucket,
  key: string,
  upload: UploadAddress,
  Parts: CompletedPart[],
  { conditions, signal }: PartsPlan,
): Promise<string> {
  let answerLost = false;
  const etag = await retrying({ policy: store.retryPolicy, signal }, async () => {
    try {
      await requireConditions(store, key, conditions, signal);
      const output = await store.attempt(key, signal, (call) =>
        store.client.send(
          new CompleteMultipartUploadCommand({ ...upload, ...conditions, MultipartUpload: { Parts } }),
          call,
        ),
      );
      return output.ETag ?? '';
    } catch (error) {
      // An upload that is gone after an unclear answer was completed by it; the caller finds out by looking.
      if (answerLost && isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
      answerLost ||= error instanceof AttemptError && error.mayHaveHappened;
      throw error;
    }
  });
  if (etag !== undefined) return etag;
  throw new AttemptError('STORAGE_UNAVAILABLE', `The answer to the upload of ${key} was lost.`, {
    retry: true,
    mayHaveHappened: true,
  });
}

/** Checked before the upload: some services ignore conditions on objects that are uploaded in parts. */
async function requireConditions(
  store: S3Bucket,
  key: string,
  { IfNoneMatch, IfMatch }: PartsPlan['conditions'],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (IfNoneMatch === undefined && IfMatch === undefined) return;
  const found = await store.head(key, signal ? { signal } : {});
  const isMet =
    IfMatch === undefined ? found === undefined : found?.etag.replaceAll('"', '') === IfMatch.replaceAll('"', '');
  if (!isMet) throw conflict(store.location, key);
}

/** Parts without an object cost money until they are removed. A rule of the bucket should catch what is missed here. */
async function abandon(
  store: S3Bucket,
  key: string,
  upload: UploadAddress,
  signal: AbortSignal | undefined,
): Promise<void> {
  const policy = { ...store.retryPolicy, attemptsMax: 4 };
  await retrying({ policy, signal }, () =>
    store.attempt(key, signal, (call) => store.client.send(new AbortMultipartUploadCommand(upload), call)),
  ).catch(() => {});
}
