import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { printLine } from '../../output.ts';
import { collectionPath, documentPath } from '../../paths.ts';
import { type BrowseOptions as BrowseBackupOptions, listDocuments, withBrowseOptions } from '../backup/browse.ts';
import { printDiff } from '../backup/diff.ts';
import { writeExport } from '../backup/export.ts';
import { printCollections } from '../collections.ts';
import { pageSize } from '../lists.ts';
import { isMoment, parseMoment } from '../moment.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectArgument } from '../project/show.ts';
import { backupIdOf, projectIdOf } from '../references.ts';
import { withService } from '../session.ts';

interface AtMoment extends ServiceOptions {
  readonly at: string;
}

/** Every command about the past takes the project first and the moment with --at. */
export function momentCommand(name: string, about: string): Command {
  return serviceCommand(name, about)
    .argument(...projectArgument)
    .requiredOption('--at <moment>', '"2 hours ago", or a time such as 2026-03-01T12:00:00Z', (text) =>
      parseMoment(text),
    );
}

type BrowseOptions = AtMoment & BrowseBackupOptions;

export function browseCommand(): Command {
  const command = momentCommand('browse', 'look at a moment: its collections, or the documents of one');
  return withBrowseOptions(command).action(
    async (reference: string, collection: string | undefined, options: BrowseOptions) =>
      await withService(options, async ({ client }) => {
        const params = { projectId: await projectIdOf(client, reference) };
        const { at, prefix, search } = options;
        if (collection === undefined && prefix === undefined && search === undefined) {
          const nodes = client.paginate('viewPitrCollections', { params, query: { at, limit: 200 } });
          await printCollections(nodes, options);
        } else await browseDocuments(client, params, collection, options);
      }),
  );
}

async function browseDocuments(
  client: Client,
  params: { projectId: string },
  collection: string | undefined,
  options: BrowseOptions,
): Promise<void> {
  const { at, prefix, search, limit } = options;
  const query = { at, collection, prefix, search, limit: pageSize(limit) };
  await listDocuments(client.paginate('viewPitrDocuments', { params, query }), options);
}

export function getCommand(): Command {
  return momentCommand('get', 'one document as it was at a moment, as JSON')
    .argument('<document>', 'such as users/ada', documentPath)
    .action(
      async (reference: string, documentPath: string, options: AtMoment) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference), documentPath };
          const document = await client.getProjectDocument({ params, query: { at: options.at } });
          printLine(JSON.stringify(document, null, options.json ? undefined : 2));
        }),
    );
}

export function diffCommand(): Command {
  return momentCommand('diff', 'what changed from a moment to the live database, to another moment or to a backup')
    .argument('[against]', 'live, another moment, or a backup', 'live')
    .option('-c, --collection <path>', 'only this collection', collectionPath)
    .action(
      async (reference: string, other: string, options: AtMoment & { readonly collection?: string }) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference) };
          const against = isMoment(other) ? parseMoment(other) : await backupIdOf(client, other);
          const query = { at: options.at, against, collection: options.collection, limit: 200 };
          await printDiff(client.pages('viewPitrDiff', { params, query }), options);
        }),
    );
}

interface ExportOptions extends AtMoment {
  readonly collection?: string;
  readonly output?: string;
}

export function exportCommand(): Command {
  return momentCommand('export', 'write a moment as newline-delimited JSON, one document a line')
    .option('-c, --collection <path>', 'only this collection', collectionPath)
    .option('-o, --output <file>', 'into this file instead of the output')
    .action(
      async (reference: string, options: ExportOptions) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference) };
          const { at, collection } = options;
          await writeExport(await client.exportPitr({ params, query: { at, collection } }), options);
        }),
    );
}
