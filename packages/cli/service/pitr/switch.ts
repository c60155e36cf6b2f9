import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { positiveInteger, type ServiceOptions, serviceCommand } from '../options.ts';
import { projectArgument } from '../project/show.ts';
import { projectIdOf, storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { showPitr } from './show.ts';

interface EnableOptions extends ServiceOptions {
  readonly storage?: string;
  readonly retentionDays?: number;
}

export function enableCommand(): Command {
  return serviceCommand('enable', 'capture every change from now on')
    .argument(...projectArgument)
    .option('--storage <storage>', 'the destination of the log, by id or name; absent: the default')
    .option('--retention-days <days>', 'how long it is kept; absent: 7, or as before', positiveInteger)
    .action(
      async (reference: string, options: EnableOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const { storage, retentionDays } = options;
          const body = {
            ...(retentionDays === undefined ? {} : { retentionDays }),
            ...(storage === undefined ? {} : { storageDestinationId: await storageIdOf(client, storage) }),
          };
          showPitr(await client.enablePitr({ params: { projectId }, body }), options);
        }),
    );
}

export function disableCommand(): Command {
  return withYes(serviceCommand('disable', 'stop capturing; what was captured stays for its days'))
    .argument(...projectArgument)
    .option('--delete-log', 'remove what was captured too; needs the right to delete backups')
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions & { readonly deleteLog?: boolean }) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          if (options.deleteLog) await confirm(`Delete everything that was captured of ${reference}?`, options);
          const body = { deleteLog: options.deleteLog === true };
          showPitr(await client.disablePitr({ params: { projectId }, body }), options);
        }),
    );
}

export function statusCommand(): Command {
  return serviceCommand('status', 'which moments can be reached, and where the gaps are')
    .argument(...projectArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          showPitr(await client.getPitr({ params: { projectId } }), options);
        }),
    );
}
