import type { Command } from 'commander';
import { printJson } from '../../output.ts';
import { positiveInteger, type ServiceOptions, serviceCommand } from '../options.ts';
import { projectArgument } from '../project/show.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';

export function historyCommand(): Command {
  return serviceCommand('history', 'every captured version of a document, newest first')
    .argument(...projectArgument)
    .argument('<document>', 'a path such as users/ada')
    .option('--limit <count>', 'at most so many', positiveInteger, 50)
    .action(
      async (reference: string, document: string, options: ServiceOptions & { readonly limit: number }) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const { limit } = options;
          const versions = await client.listDocumentHistory({ params: { projectId }, query: { document, limit } });
          const rows = 'data' in versions ? versions.data : versions;
          if (options.json) return printJson(rows);
          for (const { time, kind, fields } of rows)
            process.stdout.write(`${time}  ${kind === 'delete' ? 'deleted' : JSON.stringify(fields)}\n`);
        }),
    );
}
