import { abortable } from '../abortable.ts';
import { type RetryPolicy, retryDefault, retrying } from '../retry.ts';
import { gcsError } from './errors.ts';
import { createGcsClient, type GcsConnection } from './gcs-store.ts';

/** The buckets of the connection's project, by name, for a form that offers them. */
export async function listGcsBuckets(
  connection: GcsConnection,
  options: { signal?: AbortSignal; retry?: Partial<RetryPolicy> } = {},
): Promise<string[]> {
  const client = createGcsClient(connection);
  const policy = { ...retryDefault, ...options.retry };
  const [buckets] = await retrying({ policy, signal: options.signal }, () =>
    abortable(client.getBuckets(), options.signal).catch((error) => {
      throw gcsError(error, 'gs', '');
    }),
  );
  return buckets.map((bucket) => bucket.name).sort();
}
