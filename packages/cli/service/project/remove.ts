import type { Command } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { projectArgument } from './show.ts';

interface RemoveOptions extends ServiceOptions {
  readonly deleteBackups?: boolean;
}

export function removeCommand(): Command {
  return serviceCommand('remove', 'disconnect a project; its backups stay until their retention ends')
    .argument(...projectArgument)
    .option('--delete-backups', 'delete its backups as well')
    .action(
      async (reference: string, options: RemoveOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const query = { deleteBackups: options.deleteBackups === true };
          const message = await client.deleteProject({ params: { projectId }, query });
          if (options.json) printJson({ id: projectId, removed: true });
          else printLine(message);
        }),
    );
}
