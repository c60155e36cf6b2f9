import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { projectArgument } from './show.ts';

interface RemoveOptions extends ServiceOptions, ConfirmOptions {
  readonly deleteBackups?: boolean;
}

export function removeCommand(): Command {
  return withYes(serviceCommand('remove', 'disconnect a project; its backups stay until their retention ends'))
    .argument(...projectArgument)
    .option('--delete-backups', 'delete its backups as well; needs the right to delete backups')
    .action(
      async (reference: string, options: RemoveOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const query = { deleteBackups: options.deleteBackups === true };
          const backups = options.deleteBackups
            ? 'with all its backups and what was captured of it'
            : 'and its schedules; what was captured of it goes, its backups stay';
          await confirm(`Remove the project ${reference} ${backups}?`, options);
          const message = await client.deleteProject({ params: { projectId }, query });
          if (options.json) printJson({ id: projectId, removed: true, message });
          else printLine(message);
        }),
    );
}
