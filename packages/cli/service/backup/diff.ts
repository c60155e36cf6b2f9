import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { exitCode } from '../../exit-codes.ts';
import { formatCount, printLine, writeOut } from '../../output.ts';
import { collectionPath } from '../../paths.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { type Service, withService } from '../session.ts';
import { backupArgument } from './show.ts';

interface DiffOptions extends ServiceOptions {
  readonly collection?: string;
}

type Diff = Awaited<ReturnType<Client['diffBackup']>>['data'];

export function diffCommand(): Command {
  return serviceCommand('diff', 'what changed from a backup to the live database, or to another backup')
    .argument(...backupArgument)
    .argument('[against]', 'live, or another backup', 'live')
    .option('-c, --collection <path>', 'only this collection', collectionPath)
    .action(
      async (reference: string, against: string, options: DiffOptions) =>
        await withService(options, (service) => diff(service, reference, against, options)),
    );
}

async function diff({ client }: Service, reference: string, against: string, options: DiffOptions): Promise<void> {
  const backupId = await backupIdOf(client, reference);
  const other = await backupIdOf(client, against);
  const query = { against: other, collection: options.collection, limit: 200 };
  await printDiff(client.pages('diffBackup', { params: { backupId }, query }), options);
}

/** Page by page, with the sum at the end. */
export async function printDiff(pages: AsyncIterable<{ readonly data: Diff }>, options: DiffOptions): Promise<void> {
  const counts = { added: 0, removed: 0, changed: 0 };
  for await (const { data } of pages) {
    for (const kind of ['added', 'removed', 'changed'] as const) counts[kind] += data[kind].length;
    const lines = options.json ? jsonLines(data) : sentences(data);
    if (lines.length > 0) await writeOut(process.stdout, `${lines.join('\n')}\n`);
  }
  const { added, removed, changed } = counts;
  printLine(
    options.json
      ? JSON.stringify({ summary: counts })
      : `${formatCount(added)} added, ${formatCount(removed)} removed, ${formatCount(changed)} changed.`,
  );
  if (added + removed + changed > 0) process.exitCode = exitCode.different;
}

function jsonLines({ added, removed, changed }: Diff): string[] {
  return [
    ...added.map((entry) => JSON.stringify({ kind: 'added', ...entry })),
    ...removed.map((entry) => JSON.stringify({ kind: 'removed', ...entry })),
    ...changed.map((entry) => JSON.stringify({ kind: 'changed', ...entry })),
  ];
}

function sentences({ added, removed, changed }: Diff): string[] {
  return [
    ...added.map(({ path }) => `+ ${path}`),
    ...removed.map(({ path }) => `- ${path}`),
    ...changed.flatMap(({ path, fields }) => [
      `~ ${path}`,
      ...fields.map(({ field, before, after }) => `    ${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`),
    ]),
  ];
}
