import { type CatalogueEntry, listBackups } from '@holdfast/engine';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { formatBytes, formatCount, printJson, printLine, printTable } from '../output.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { withSession } from './session.ts';

export function listCommand(): Command {
  return storeCommand('list', 'list the backups in the store').action(
    async (options: StoreOptions) =>
      await withSession(options, async ({ store, keys, codec, signal }) => {
        const entries: CatalogueEntry[] = [];
        for await (const entry of listBackups(store, keys, codec, { signal })) entries.push(entry);
        entries.sort((left, right) => ((left.createdAt ?? '') < (right.createdAt ?? '') ? -1 : 1));
        const isLocked = entries.length > 0 && entries.every(({ problem }) => problem?.code === 'DECRYPTION_ERROR');
        if (isLocked) process.exitCode = exitCode.wrongKey;
        if (options.json) printJson({ backups: entries.map(present) });
        else if (entries.length === 0) printLine('There are no backups.');
        else printTable([['ID', 'TYPE', 'SNAPSHOT', 'DOCUMENTS', 'STORED', 'DATABASE'], ...entries.map(row)]);
      }),
  );
}

function present({ backupId, createdAt, body, manifestSha256, problem }: CatalogueEntry) {
  const { type = null, snapshotTime = null, database = null, counts = null, parent = null } = body ?? {};
  return {
    backupId,
    createdAt,
    type,
    snapshotTime,
    database,
    parentId: parent?.backupId ?? null,
    counts,
    sha256: manifestSha256,
    problem,
  };
}

function row({ backupId, createdAt, body, problem }: CatalogueEntry): string[] {
  if (body === null) return [backupId, '?', createdAt ?? '?', '', '', problem?.code ?? ''];
  return [
    backupId,
    body.type,
    body.snapshotTime,
    formatCount(body.counts.documents),
    formatBytes(body.counts.storedBytes),
    body.database,
  ];
}
