/** Which collections exist below a document or the root. */

import type { ReadOptions } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { messages, methods } from '../protos.ts';
import { readFailure } from '../read-failure.ts';
import { timestampMessage } from './query.ts';

const pageSize = 300;

export async function* listCollectionIds(
  client: FirestoreClient,
  parentPath: string,
  options: ReadOptions,
): AsyncGenerator<string, void> {
  let pageToken = '';
  do {
    const request = messages.listCollectionIdsRequest.encode({
      parent: client.name(parentPath),
      pageSize: pageSize,
      pageToken,
      readTime: timestampMessage(options.readTime),
    });
    const page = await client
      .unary(methods.listCollectionIds, client.routing('parent'), request, options.signal)
      .then((bytes) => messages.listCollectionIdsResponse.decode(bytes))
      .catch(async (error: unknown) => {
        throw await readFailure(client, error, options);
      });
    yield* (page.collectionIds as string[] | undefined) ?? [];
    pageToken = (page.nextPageToken as string | undefined) ?? '';
  } while (pageToken !== '');
}
