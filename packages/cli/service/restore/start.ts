import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { type ConfirmOptions, withYes } from '../../confirm.ts';
import { backupArgument } from '../backup/show.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { confirmDeleteExtra, finishRestore } from './finish.ts';
import { type RestoreChoice, requireDocuments, restoreBody, withChoice } from './restore-body.ts';

interface StartOptions extends RestoreChoice, WaitOptions, ConfirmOptions {
  readonly subcollections: boolean;
  readonly rewriteReferences: boolean;
  readonly authUsers?: boolean;
}

export function startCommand(): Command {
  return withChoice(
    withYes(withWait(serviceCommand('start', 'write a backup, or parts of it, into a project'))).argument(
      ...backupArgument,
    ),
  )
    .option('-t, --target <project>', 'into this project; absent: where the backup comes from')
    .option('--delete-extra', 'delete what the backup does not have, within the chosen collections')
    .option('--no-safety-backup', 'do not first save what is about to be overwritten')
    .option('--no-subcollections', 'without the collections below the documents of the named collections')
    .option('--no-rewrite-references', 'leave references into the original database as they are')
    .option('--auth-users', 'with the accounts')
    .option('--no-auth-users', 'without the accounts, though the backup holds them')
    .action(
      async (reference: string, options: StartOptions) =>
        await withService(options, async (service) => {
          const { client } = service;
          const body = await bodyOf(client, reference, options);
          if (options.deleteExtra && !options.dryRun)
            await confirmDeleteExtra(service, body, options.target ?? 'the project of the backup', options);
          const { id } = await client.startRestore({ body });
          await finishRestore(service, id, { ...options, wait: options.wait === true || options.dryRun === true });
        }),
    );
}

type Body = NonNullable<NonNullable<Parameters<Client['startRestore']>[0]>['body']>;

async function bodyOf(client: Client, reference: string, options: StartOptions): Promise<Body> {
  requireDocuments(options);
  const { authUsers } = options;
  const backupId = await backupIdOf(client, reference);
  const body = await restoreBody(client, options);
  return {
    ...body,
    backupId,
    options: {
      ...body.options,
      ...(options.subcollections ? {} : { includeSubcollections: false }),
      rewriteReferences: options.rewriteReferences,
      ...(authUsers === undefined ? {} : { includeAuthUsers: authUsers }),
    },
  };
}
