import { type RetryPolicy, retryDefault, retrying } from '../retry.ts';
import { GcsClient, type GcsConnection } from './client.ts';
import { gcsError, notUnderstood } from './errors.ts';
import { readPageToken } from './resources.ts';

const bucketsMax = 10_000;
const pagesMax = 100;

/** The buckets of the connection's project, by name, for a form that offers them. */
export async function listGcsBuckets(
  connection: GcsConnection,
  options: { signal?: AbortSignal; retry?: Partial<RetryPolicy> } = {},
): Promise<string[]> {
  const client = new GcsClient(connection);
  const { signal = new AbortController().signal } = options;
  const policy = { ...retryDefault, ...options.retry };
  const names: string[] = [];
  try {
    let pageToken: string | undefined;
    let pages = 0;
    do {
      const query = { project: client.projectId, maxResults: 1000, fields: 'items(name),nextPageToken', pageToken };
      const page = await retrying({ policy, signal }, () =>
        client.json('/b', { method: 'GET', query, signal }).catch((error) => {
          throw gcsError(error, 'gs', '');
        }),
      );
      const { items = [], nextPageToken } = Object(page) as { items?: unknown; nextPageToken?: unknown };
      if (!Array.isArray(items)) throw notUnderstood('listing');
      for (const item of items) names.push(nameOf(item));
      pageToken = readPageToken(nextPageToken);
      pages++;
    } while (pageToken !== undefined && names.length < bucketsMax && pages < pagesMax);
    return names.sort();
  } finally {
    client.close();
  }
}

function nameOf(item: unknown): string {
  const { name } = Object(item) as { name?: unknown };
  if (typeof name !== 'string' || name.length > 222) throw notUnderstood('listing');
  return name;
}
