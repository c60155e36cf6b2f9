import {
  browse,
  decodeDocument,
  type SearchOptions,
  search,
  stringifyLossless,
  updateTimeOf,
  type View,
} from '@holdfast/engine';
import type { Command } from 'commander';
import { formatBytes, formatCount, printJson, printLine, printTable } from '../output.ts';
import { anyPath } from '../paths.ts';
import { latestArgument } from './latest.ts';
import { positiveInteger, type StoreOptions, storeCommand } from './options.ts';
import { notThere } from './require-named.ts';
import { viewOf, withSession } from './session.ts';

interface BrowseOptions extends StoreOptions {
  readonly prefix?: string;
  readonly search?: string;
  readonly after?: string;
  readonly limit: number;
  readonly recursive?: boolean;
}

export function browseCommand(): Command {
  return storeCommand('browse', 'look inside a backup: its collections, the documents of one, or a document')
    .argument(...latestArgument)
    .argument('[path]', 'a collection (users) or a document (users/ada)', anyPath)
    .option('--prefix <id>', 'only ids that begin so')
    .option('--search <text>', 'only documents with this text in their id or in any string, whatever the case')
    .option('--after <path>', 'continue after this document')
    .option('--limit <count>', 'at most this many documents', positiveInteger, 50)
    .option('-r, --recursive', 'with subcollections')
    .action(
      async (reference: string, path: string | undefined, options: BrowseOptions) =>
        await withSession(options, async (session) => {
          const view = await viewOf(session, reference);
          if (path === undefined && options.prefix === undefined && options.search === undefined)
            showCollections(view, options);
          else if (path !== undefined && path.split('/').length % 2 === 0) await showDocument(view, path);
          else await showDocuments(view, path, options);
        }),
    );
}

function showCollections({ body }: View, { json }: BrowseOptions): void {
  const { collections = [], counts } = body ?? {};
  if (json) printJson({ collections, documents: counts?.documents });
  else
    printTable([
      ['COLLECTION', 'DOCUMENTS'],
      ...collections.map(({ path, documents }) => [path, formatCount(documents)]),
    ]);
}

async function showDocument(view: View, path: string): Promise<void> {
  const bytes = await view.get(path);
  if (bytes === undefined) throw notThere('DOCUMENT_NOT_FOUND', 'The backup does not hold', [path]);
  printLine(stringifyLossless(decodeDocument(bytes)));
}

async function showDocuments(view: View, collection: string | undefined, options: BrowseOptions): Promise<void> {
  const { prefix, after, search: text } = options;
  const selected = {
    limit: options.limit,
    includeSubcollections: options.recursive === true,
    ...(collection === undefined ? {} : { collection }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(after === undefined ? {} : { after }),
  };
  if (text !== undefined) return await showFound(view, { ...selected, text, budgetMs: searchBudgetMs }, options);
  const { entries, hasMore } = await browse(view, selected);
  if (entries.length === 0 && collection !== undefined && !prefix && !after)
    throw notThere('COLLECTION_NOT_FOUND', 'The backup holds nothing in', [collection]);
  if (options.json) {
    printJson({
      documents: entries.map((entry) => ({ path: entry.path, updateTime: updateTimeOf(entry), size: entry.size })),
      hasMore,
    });
    return;
  }
  printTable([
    ['DOCUMENT', 'UPDATED', 'SIZE'],
    ...entries.map((entry) => [entry.path, updateTimeOf(entry), formatBytes(entry.size)]),
  ]);
  if (hasMore) printLine(`… more behind --after ${entries.at(-1)!.path}`);
}

/** An offline search has no time limit. */
const searchBudgetMs = Number.POSITIVE_INFINITY;

async function showFound(view: View, selected: SearchOptions, { json }: BrowseOptions): Promise<void> {
  const { found, scanned, stoppedAt } = await search(view, selected);
  const documents = found.map(({ path, body }) => ({ path, updateTime: decodeDocument(body).updateTime ?? '' }));
  if (json) return printJson({ documents, scanned, hasMore: stoppedAt !== null });
  printTable([['DOCUMENT', 'UPDATED'], ...documents.map(({ path, updateTime }) => [path, updateTime])]);
  printLine(`${formatCount(documents.length)} found among ${formatCount(scanned)}`);
  if (stoppedAt !== null) printLine(`… more behind --after ${stoppedAt}`);
}
