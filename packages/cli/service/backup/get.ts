import type { Command } from 'commander';
import { printLine } from '../../output.ts';
import { documentPath } from '../../paths.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { backupArgument } from './show.ts';

export function getCommand(): Command {
  return serviceCommand('get', 'one document as a backup holds it, as JSON')
    .argument(...backupArgument)
    .argument('<document>', 'such as users/ada', documentPath)
    .action(
      async (reference: string, documentPath: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const backupId = await backupIdOf(client, reference);
          const document = await client.getBackupDocument({ params: { backupId, documentPath } });
          printLine(JSON.stringify(document, null, options.json ? undefined : 2));
        }),
    );
}
