import { ListBucketsCommand } from '@aws-sdk/client-s3';
import { type RetryPolicy, retryDefault, retrying } from '../retry.ts';
import { createS3Client, regionAsAddress, type S3Connection } from './client.ts';
import { s3Error } from './errors.ts';

const bucketsMax = 10_000;
const pagesMax = 100;

/** The buckets that the credentials can see, by name, for a form that offers them. */
export async function listS3Buckets(
  connection: S3Connection,
  options: { signal?: AbortSignal; retry?: Partial<RetryPolicy> } = {},
): Promise<string[]> {
  const { client, network } = createS3Client(connection);
  const policy = { ...retryDefault, ...options.retry };
  const call = options.signal ? { abortSignal: options.signal } : {};
  const names: string[] = [];
  try {
    let ContinuationToken: string | undefined;
    let pages = 0;
    do {
      const page = await retrying({ policy, signal: options.signal }, () =>
        client.send(new ListBucketsCommand({ ContinuationToken }), call).catch((error) => {
          throw s3Error(error, connection.kind, '', regionAsAddress(connection));
        }),
      );
      for (const { Name } of page.Buckets ?? []) if (Name !== undefined) names.push(Name);
      ContinuationToken = page.ContinuationToken;
      pages++;
    } while (ContinuationToken !== undefined && names.length < bucketsMax && pages < pagesMax);
    return names.sort();
  } finally {
    client.destroy();
    network.destroy();
  }
}
