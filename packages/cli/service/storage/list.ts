import type { Command } from 'commander';
import { formatBytes, formatCount } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, listCommand as listOf } from '../options.ts';
import { withService } from '../session.ts';

export function listCommand(): Command {
  return listOf('list where backups can go').action(
    async (options: ListOptions) =>
      await withService(options, async ({ client }) => {
        const query = { limit: pageSize(options.limit) };
        await printList('storageDestinations', client.paginate('listStorageDestinations', { query }), options, {
          head: ['ID', 'NAME', 'TYPE', 'WHERE', 'STATUS', 'DEFAULT', 'BACKUPS', 'STORED'],
          row: (storage) => [
            storage.id,
            storage.name,
            storage.type,
            storage.bucket ?? storage.path ?? '',
            storage.status,
            storage.isDefault ? 'yes' : '',
            formatCount(storage.usage.backups),
            formatBytes(storage.usage.bytes),
          ],
        });
      }),
  );
}
