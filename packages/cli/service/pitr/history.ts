import type { Command } from 'commander';
import { printJson } from '../../output.ts';
import { documentPath } from '../../paths.ts';
import { pageSize, takeSome } from '../lists.ts';
import { positiveInteger, type ServiceOptions, serviceCommand } from '../options.ts';
import { projectArgument } from '../project/show.ts';
import { notFound, projectIdOf } from '../references.ts';
import { withService } from '../session.ts';

export function historyCommand(): Command {
  return serviceCommand('history', 'every captured version of a document, newest first')
    .argument(...projectArgument)
    .argument('<document>', 'a path such as users/ada', documentPath)
    .option('--limit <count>', 'at most this many', positiveInteger, 50)
    .action(
      async (reference: string, document: string, options: ServiceOptions & { readonly limit: number }) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const { limit } = options;
          const query = { document, limit: pageSize(limit) };
          const versions = client.paginate('listDocumentHistory', { params: { projectId }, query });
          const { items: rows, hasMore } = await takeSome(versions, limit);
          if (rows.length === 0) throw notFound('DOCUMENT_NOT_FOUND', `No version of ${document} was captured.`);
          // On the error stream: the output has one version per line, or all of them as JSON.
          if (hasMore) process.stderr.write('… more with a larger --limit\n');
          if (options.json) return printJson(rows);
          for (const { time, kind, fields } of rows)
            process.stdout.write(`${time}  ${kind === 'delete' ? 'deleted' : JSON.stringify(fields)}\n`);
        }),
    );
}
