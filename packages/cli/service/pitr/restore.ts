import type { Command } from 'commander';
import { type ConfirmOptions, withYes } from '../../confirm.ts';
import { type WaitOptions, withWait } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { confirmDeleteExtra, finishRestore } from '../restore/finish.ts';
import { type RestoreChoice, requireDocuments, restoreBody, withChoice } from '../restore/restore-body.ts';
import { withService } from '../session.ts';
import { momentCommand } from './look.ts';

interface RestoreOptions extends RestoreChoice, WaitOptions, ConfirmOptions {
  readonly at: string;
}

export function restoreCommand(): Command {
  return withChoice(withYes(withWait(momentCommand('restore', 'write a moment of a project, or parts of it, back'))))
    .option('-t, --target <project>', 'into this project; absent: the project itself')
    .option('--delete-extra', 'delete what was not there then, within the chosen collections')
    .option('--no-safety-backup', 'do not first save what is about to be overwritten')
    .action(
      async (reference: string, options: RestoreOptions) =>
        await withService(options, async (service) => {
          requireDocuments(options);
          const { client } = service;
          const { at, target } = options;
          const projectId = await projectIdOf(client, reference);
          const body = { projectId, pointInTime: at, ...(await restoreBody(client, options)) };
          if (options.deleteExtra && !options.dryRun)
            await confirmDeleteExtra(service, body, target ?? reference, options);
          const { id } = await client.startRestore({ body });
          await finishRestore(service, id, { ...options, wait: options.wait === true || options.dryRun === true });
        }),
    );
}
