import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { countOf, printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { backupArgument, showBackup } from './show.ts';

type Change = (client: Client, backupId: string) => ReturnType<Client['getBackup']>;

function changeCommand(name: string, description: string, change: Change): Command {
  return serviceCommand(name, description)
    .argument(...backupArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          showBackup(await change(client, await backupIdOf(client, reference)), options);
        }),
    );
}

export function cancelCommand(): Command {
  return changeCommand('cancel', 'stop a backup and remove what it has written', (client, backupId) =>
    client.cancelBackup({ params: { backupId } }),
  );
}

export function holdCommand(): Command {
  return changeCommand('hold', 'put a backup under legal hold: nobody can delete it', (client, backupId) =>
    client.holdBackup({ params: { backupId } }),
  );
}

export function releaseCommand(): Command {
  return changeCommand('release', 'lift the legal hold of a backup', (client, backupId) =>
    client.releaseBackup({ params: { backupId } }),
  );
}

export function deleteCommand(): Command {
  return withYes(serviceCommand('delete', 'delete a backup permanently'))
    .argument('<backup>', 'id')
    .action(
      async (backupId: string, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          if (backupId.startsWith('latest'))
            throw wrongUsage('Name what is to be deleted by its id: `holdfast backup list`.');
          await confirm(() => questionOf(client, backupId), options);
          const message = await client.deleteBackup({ params: { backupId } });
          if (options.json) printJson({ id: backupId, deleted: true, message });
          else printLine(message);
        }),
    );
}

/** Says what would be deleted, so that nobody deletes another backup than the intended one. */
async function questionOf(client: Client, backupId: string): Promise<string> {
  const { type, createdAt, documentCount } = await client.getBackup({ params: { backupId } });
  const documents = documentCount === null ? '' : `, ${countOf(documentCount, 'document')}`;
  return `Delete the ${type} backup ${backupId} of ${createdAt}${documents}?`;
}
