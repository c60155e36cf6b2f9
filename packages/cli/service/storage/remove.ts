import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { storageArgument } from './show.ts';

export function removeCommand(): Command {
  return withYes(
    serviceCommand(
      'remove',
      'remove a destination that nothing uses, and the copies of your keys in it; its other objects stay',
    ),
  )
    .argument(...storageArgument)
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          const storageDestinationId = await storageIdOf(client, reference);
          await confirm(
            `Remove the destination ${reference} and its credentials? The copies of your keys in it go too, its other objects stay.`,
            options,
          );
          const message = await client.deleteStorageDestination({ params: { storageDestinationId } });
          if (options.json) printJson({ id: storageDestinationId, removed: true });
          else printLine(message);
        }),
    );
}
