import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Sandbox } from './server.ts';

export const mib = 1024 * 1024;

/** The official client, told where the sandbox is and nothing else. */
export function clientOf(sandbox: S3Sandbox, config: S3ClientConfig = {}): S3Client {
  return new S3Client({
    endpoint: sandbox.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'sandbox', secretAccessKey: 'sandbox-secret' },
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  });
}

/** What the client threw, or `no error`. */
export async function failure(promise: Promise<unknown>): Promise<{ name: string; status: number | undefined }> {
  try {
    await promise;
  } catch (error) {
    const known = error as { name: string; $metadata?: { httpStatusCode?: number } };
    return { name: known.name, status: known.$metadata?.httpStatusCode };
  }
  return { name: 'no error', status: undefined };
}

export async function bodyOf(output: { Body?: { transformToByteArray(): Promise<Uint8Array> } }): Promise<Buffer> {
  return Buffer.from(await output.Body!.transformToByteArray());
}
