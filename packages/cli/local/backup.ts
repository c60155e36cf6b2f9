import {
  type BackupReader,
  EngineError,
  isOwnerId,
  manifestKey,
  reasonNotToFollow,
  runBackup,
  type Scope,
  tuneCollector,
  type WrittenManifest,
} from '@holdfast/engine';
import type { Command } from 'commander';
import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { formatBytes, formatCount, printJson, printLine } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { newBackupId } from './new-backup-id.ts';
import { type DatabaseOptions, openDatabase } from './open-database.ts';
import {
  positiveInteger,
  type ScopeOptions,
  type StoreOptions,
  scopeOf,
  storeCommand,
  withDatabase,
  withScope,
} from './options.ts';
import { emptyInDatabase } from './require-named.ts';
import { chainOf, type Session, withSession } from './session.ts';

interface BackupOptions extends StoreOptions, DatabaseOptions, ScopeOptions {
  readonly id?: string;
  readonly incremental?: boolean | string;
  readonly authUsers?: boolean;
  readonly concurrency: number;
}

export function backupCommand(): Command {
  return withScope(withDatabase(storeCommand('backup', 'back up a database into the store')))
    .option('--id <id>', "the backup's id; made up when absent")
    .option('-i, --incremental [parent]', 'only what changed since the latest (or the named) backup')
    .option('--auth-users', 'include the accounts of Firebase Authentication')
    .option('--concurrency <ranges>', 'ranges read at the same time', positiveInteger, 4)
    .option('--read-rate <documents>', 'at most this many documents per second', positiveInteger)
    .action(
      async (options: BackupOptions) =>
        await withSession(options, (session) => backUp(session, options), { isMade: true }),
    );
}

async function backUp(session: Session, options: BackupOptions): Promise<void> {
  tuneCollector();
  const backupId = options.id ?? newBackupId();
  if (!isOwnerId(backupId))
    throw new EngineError('VALIDATION_ERROR', 'An id has 1 to 64 of the characters A-Z a-z 0-9 _ -.');
  await requireFreeId(session, backupId);
  const scope = scopeOf(options);
  const database = await openDatabase(options);
  try {
    const { source } = database;
    const { signal } = session;
    const empty = await emptyInDatabase(source, scope, { readTime: await source.snapshotTime({ signal }), signal });
    const { chain, notes } = await parentChain(session, options, source.database, scope);
    for (const collection of empty) notes.push(`There are no documents in ${collection}.`);
    const bar = new ProgressBar('Backing up', options);
    const written = await runBackup({
      ...session,
      source: database.source,
      backupId,
      scope,
      parentChain: chain,
      concurrency: options.concurrency,
      ...(options.authUsers ? { authUsers: database.authUsers } : {}),
      onProgress: ({ documents, bytes, rangesDone, ranges }) =>
        bar.update({ documents, bytes, ...(ranges > 1 ? { share: rangesDone / ranges } : {}) }),
    }).finally(() => bar.finish());
    report(written, notes, options.json === true);
  } finally {
    await database.close();
  }
}

/** Checked before the database is read: the storage would only refuse the manifest, which is written last. */
async function requireFreeId({ store, signal }: Session, backupId: string): Promise<void> {
  if ((await store.head(manifestKey(backupId), { signal })) === undefined) return;
  throw new CommandFailure(
    'STORAGE_CONFLICT',
    `The id ${backupId} is taken: a backup lies under it in ${store.location}.`,
    { exit: exitCode.conflict, remedy: 'Give another --id, or none: then one is made up.' },
  );
}

/** An increment that cannot be made becomes a full backup and says so. */
async function parentChain(
  session: Session,
  { incremental }: BackupOptions,
  database: string,
  scope: Scope,
): Promise<{ chain: BackupReader[]; notes: string[] }> {
  if (incremental === undefined || incremental === false) return { chain: [], notes: [] };
  const isNamed = typeof incremental === 'string';
  try {
    const chain = await chainOf(session, isNamed ? incremental : `latest:${database}`);
    const reason = reasonNotToFollow({ body: chain.at(-1)!.body, chainLength: chain.length }, database, scope);
    if (reason === undefined) return { chain, notes: [] };
    return { chain: [], notes: [`Made a full backup: ${chain.at(-1)!.backupId} cannot be built on, ${reason}`] };
  } catch (error) {
    if (isNamed || (error as { code?: string }).code !== 'STORAGE_NOT_FOUND') throw error;
    return { chain: [], notes: ['Made a full backup: there is none to build on yet.'] };
  }
}

function report(
  { body, manifestSha256, storedBytes }: WrittenManifest,
  notes: readonly string[],
  isJson: boolean,
): void {
  const warnings = [...notes, ...body.warnings];
  const { backupId, type, snapshotTime, counts, parent } = body;
  const users = body.authUsers?.count ?? null;
  if (isJson) {
    printJson({
      backupId,
      type,
      snapshotTime,
      parentId: parent?.backupId ?? null,
      ...counts,
      storedBytes,
      authUsers: users,
      sha256: manifestSha256,
      warnings,
    });
    return;
  }
  printLine(`${backupId}  ${type}, as of ${snapshotTime}`);
  const changed =
    type === 'incremental' ? ` (${formatCount(counts.puts)} changed, ${formatCount(counts.deletes)} deleted)` : '';
  printLine(
    `${formatCount(counts.documents)} documents${changed}${users === null ? '' : `, ${formatCount(users)} users`}, ${formatBytes(storedBytes)} stored`,
  );
  for (const warning of warnings) printLine(`! ${warning}`);
}
