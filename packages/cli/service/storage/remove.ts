import type { Command } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { storageArgument } from './show.ts';

export function removeCommand(): Command {
  return serviceCommand('remove', 'remove a destination that nothing uses; its objects stay')
    .argument(...storageArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const storageDestinationId = await storageIdOf(client, reference);
          const message = await client.deleteStorageDestination({ params: { storageDestinationId } });
          if (options.json) printJson({ id: storageDestinationId, removed: true });
          else printLine(message);
        }),
    );
}
