import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { type S3Sandbox, startS3Sandbox } from './server.ts';

export const mib = 1024 * 1024;

/** The official client with only the sandbox's address. */
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

/** A sandbox in memory and one in a temporary folder, each with a bucket and a client. */
export async function startBothKinds(bucket: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-s3-'));
  const sandboxes = [
    { kind: 'memory', sandbox: await startS3Sandbox({ buckets: [bucket] }) },
    { kind: 'disk', sandbox: await startS3Sandbox({ buckets: [bucket], folder }) },
  ];
  const kinds = sandboxes.map(({ kind, sandbox }) => ({ kind, s3: clientOf(sandbox) }));
  const stop = async (): Promise<void> => {
    for (const { s3 } of kinds) s3.destroy();
    await Promise.all(sandboxes.map(({ sandbox }) => sandbox.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  return { kinds, stop };
}

/** The error that the client threw, or `no error`. */
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
