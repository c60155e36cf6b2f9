import type { Command } from 'commander';
import { printCollections } from '../collections.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { projectArgument } from './show.ts';

export function collectionsCommand(): Command {
  return serviceCommand('collections', 'the collections of the live database with their counts')
    .argument(...projectArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference) };
          await printCollections(client.paginate('listProjectCollections', { params, query: { limit: 200 } }), options);
        }),
    );
}
