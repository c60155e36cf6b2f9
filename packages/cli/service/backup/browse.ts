import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { collectionPath } from '../../paths.ts';
import { printCollections } from '../collections.ts';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, positiveInteger, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { backupArgument } from './show.ts';

export interface BrowseOptions extends ListOptions {
  readonly prefix?: string;
  readonly search?: string;
}

/** What to show: everything, a collection, or those of its documents that match. */
export function withBrowseOptions(command: Command): Command {
  return command
    .argument('[collection]', 'such as users or users/ada/orders', collectionPath)
    .option('--prefix <id>', 'only document ids that begin with this')
    .option('--search <text>', 'only documents with this text in their id or in any string; case is ignored')
    .option('--limit <count>', 'at most this many documents', positiveInteger, 50);
}

export function browseCommand(): Command {
  const command = serviceCommand('browse', 'look inside a backup: its collections, or the documents of one');
  return withBrowseOptions(command.argument(...backupArgument)).action(
    async (reference: string, collection: string | undefined, options: BrowseOptions) =>
      await withService(options, async ({ client }) => {
        const backupId = await backupIdOf(client, reference);
        if (collection === undefined && options.prefix === undefined && options.search === undefined) {
          const query = { limit: 200 };
          await printCollections(client.paginate('listBackupCollections', { params: { backupId }, query }), options);
        } else await printDocuments(client, backupId, collection, options);
      }),
  );
}

async function printDocuments(
  client: Client,
  backupId: string,
  collection: string | undefined,
  options: BrowseOptions,
): Promise<void> {
  const { prefix, search, limit } = options;
  const query = { collection, prefix, search, limit: pageSize(limit) };
  const documents = client.paginate('listBackupDocuments', { params: { backupId }, query });
  await listDocuments(documents, options);
}

type ShownDocument = Pick<Awaited<ReturnType<Client['getBackupDocument']>>, 'path' | 'updateTime' | 'fields'>;

export async function listDocuments(documents: AsyncIterable<ShownDocument>, options: ListOptions): Promise<void> {
  await printList('documents', documents, options, {
    head: ['DOCUMENT', 'UPDATED', 'FIELDS'],
    row: ({ path, updateTime, fields }) => [path, updateTime, Object.keys(fields).join(', ').slice(0, 60)],
  });
}
