import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { formatBytes, formatCount, printJson } from '../../output.ts';
import { printRecord } from '../lists.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { withService } from '../session.ts';

export type StorageDestination = Awaited<ReturnType<Client['getStorageDestination']>>;

export const storageArgument = ['<storage>', 'id or name'] as const;

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a storage destination')
    .argument(...storageArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const storageDestinationId = await storageIdOf(client, reference);
          showStorage(await client.getStorageDestination({ params: { storageDestinationId } }), options);
        }),
    );
}

export function showStorage(storage: StorageDestination, { json }: ServiceOptions): void {
  if (json) {
    printJson(storage);
    return;
  }
  const { objectLock, error, usage } = storage;
  printRecord({
    Id: storage.id,
    Name: storage.name,
    Type: storage.type,
    Bucket: storage.bucket,
    Region: storage.region,
    Endpoint: storage.endpoint,
    Prefix: storage.prefix,
    Path: storage.path,
    'Object lock': objectLock === null ? null : `${objectLock.mode}, ${objectLock.days} days`,
    Default: storage.isDefault ? 'yes' : 'no',
    Status: storage.status,
    Error: error === null ? null : `${error.code}: ${error.message}`,
    Advice: error?.advice,
    Backups: formatCount(usage.backups),
    Stored: formatBytes(usage.bytes),
    Checked: storage.lastCheckedAt,
    Created: storage.createdAt,
  });
}
