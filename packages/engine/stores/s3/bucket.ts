import type { S3Client } from '@aws-sdk/client-s3';
import type { BlobInfo, CallOptions } from '../../ports/index.ts';
import type { RetryPolicy } from '../retry.ts';

/** What the steps of a put or a delete need of the store they belong to. */
export interface S3Bucket {
  readonly location: string;
  readonly client: S3Client;
  readonly bucket: string;
  readonly kind: 's3' | 'spaces';
  readonly retryPolicy: RetryPolicy;
  readonly now: () => Date;
  address(key: string): { Bucket: string; Key: string };
  /** The other way round: the key of an object's full name. */
  keyOf(name: string): string;
  checksumOf(bytes: Uint8Array, sha256: Buffer): { ChecksumSHA256: string } | { ContentMD5: string };
  head(key: string, options?: CallOptions): Promise<BlobInfo | undefined>;
  /** One call, its errors said in the words of the port. */
  attempt<Result>(
    key: string,
    signal: AbortSignal | undefined,
    run: (call: { abortSignal?: AbortSignal }) => Promise<Result>,
    bytesToSend?: number,
  ): Promise<Result>;
}
