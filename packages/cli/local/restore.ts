import {
  type ApplyProgress,
  type ApplyResult,
  type BackupReader,
  type ConnectedFirestore,
  documentsScope,
  instantToParts,
  isEngineError,
  type MergeMode,
  parseInstant,
  previewRestore,
  readUsers,
  restoreDeletes,
  restorePuts,
  restoreScope,
  type Scope,
  scopeContains,
  type View,
  viewOfChain,
  type WriteGuard,
  wholeDatabase,
  withDescendants,
  withinFile,
} from '@holdfast/engine';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CommandFailure, wrongUsage } from '../command-failure.ts';
import { type ConfirmOptions, confirm, withYes } from '../confirm.ts';
import { exitCode } from '../exit-codes.ts';
import { countOf, formatCount, printJson, printLine } from '../output.ts';
import { documentPaths } from '../paths.ts';
import { ProgressBar } from '../progress.ts';
import { belowOption, requireDocuments } from '../service/restore/restore-body.ts';
import { latestArgument } from './latest.ts';
import { type DatabaseOptions, openDatabase } from './open-database.ts';
import { type ScopeOptions, type StoreOptions, scopeOf, storeCommand, withDatabase, withScope } from './options.ts';
import { requireExcluded, requireInBackup } from './require-named.ts';
import { chainOf, type Session, withSession } from './session.ts';

interface RestoreOptions extends StoreOptions, DatabaseOptions, ScopeOptions, ConfirmOptions {
  readonly mode: MergeMode;
  readonly documents?: string[];
  readonly below?: boolean;
  readonly deleteExtra?: boolean;
  readonly dryRun?: boolean;
  readonly rampUp: boolean;
  readonly rewriteReferences: boolean;
  readonly authUsers?: boolean;
  readonly after?: string;
  readonly began?: string;
}

export function restoreCommand(): Command {
  return withYes(withScope(withDatabase(storeCommand('restore', 'write a backup, or parts of it, into a database'))))
    .argument(...latestArgument)
    .addOption(
      new Option('-m, --mode <mode>', 'what happens to documents that exist')
        .choices(['overwrite', 'skip_existing', 'merge'])
        .default('overwrite'),
    )
    .option('--documents <paths...>', 'only these documents', documentPaths)
    .option(...belowOption)
    .option('--delete-extra', 'delete what the backup does not have, within the chosen collections')
    .option('--dry-run', 'count what would be done and do nothing')
    .option('--no-ramp-up', 'write at full speed at once')
    .option('--no-rewrite-references', 'leave references into the original database as they are')
    .option('--auth-users', 'restore the accounts as well')
    .option('--after <path>', 'continue after this document')
    .option('--began <time>', 'when the stopped run began: --delete-extra leaves documents created later', instant)
    .action(
      async (reference: string, options: RestoreOptions) =>
        await withSession(options, (session) => restore(session, reference, options)),
    );
}

function instant(text: string): string {
  if (parseInstant(text) === undefined)
    throw new InvalidArgumentError('It must be a time such as 2026-11-19T20:00:00Z.');
  return text;
}

async function restore(session: Session, reference: string, options: RestoreOptions): Promise<void> {
  // Otherwise documents that were made between the two runs would be deleted as if they had been there all the time.
  if (options.deleteExtra && options.after !== undefined && options.began === undefined)
    throw wrongUsage('--after with --delete-extra needs --began, as the stopped run printed it.');
  const chain = await chainOf(session, reference);
  const database = await openDatabase(options);
  try {
    if (options.authUsers) requireUsers(chain.at(-1)!);
    const view = viewOfChain(chain);
    const scope = await chosenScope(view, options, session.signal);
    // With --delete-extra, a covered collection that is empty in the backup may be named on purpose, to empty it.
    if (scope.documents || !options.deleteExtra) await requireInBackup(view, scope, session.signal);
    await requireExcluded(view, database.source, options.exclude ?? [], session.signal);
    if (options.dryRun) await preview(session, view, scope, database, options);
    else await write(session, chain.at(-1)!, view, scope, database, options);
  } finally {
    await database.close();
  }
}

/** Otherwise the missing accounts would only be noticed when people cannot sign in. */
function requireUsers({ backupId, body }: BackupReader): void {
  if (body.authUsers !== null) return;
  throw new CommandFailure('VALIDATION_ERROR', `The backup ${backupId} holds no accounts, so nothing was written.`, {
    exit: exitCode.notFound,
    remedy: 'Restore without --auth-users, or from a backup that was made with it.',
  });
}

/** One scope for writing, deleting and counting: the requested one within what the backup covers. */
async function chosenScope(view: View, options: RestoreOptions, signal: AbortSignal): Promise<Scope> {
  requireDocuments(options);
  const asked = scopeOf(options);
  refuseContradiction(options, asked);
  const collections = asked.collections === 'all' ? undefined : asked.collections;
  const scope = restoreScope(view.body?.scope ?? wholeDatabase, {
    deleteExtra: options.deleteExtra === true,
    collections,
    documents: options.documents,
    includeSubcollections: options.below ? true : options.subcollections === false ? false : undefined,
  });
  if (scope.documents) {
    const { documents = [] } = options.below ? await withDescendants(view, scope.documents, { signal }) : scope;
    return documentsScope(documents.filter((path) => !isLeftOut(path, asked)));
  }
  const covered = options.deleteExtra && view.body ? withinFile(scope, view.body) : scope;
  return { ...covered, excludeCollections: [...new Set([...scope.excludeCollections, ...asked.excludeCollections])] };
}

/** The two options contradict each other, and one could lose what the other should keep. */
function refuseContradiction({ below, subcollections, documents }: RestoreOptions, asked: Scope): void {
  if (below && subcollections === false) throw wrongUsage('--below and --no-subcollections contradict each other.');
  const leftOut = documents?.find((path) => isLeftOut(path, asked));
  if (leftOut) throw wrongUsage(`${leftOut} lies in a collection that --exclude leaves out.`);
}

function isLeftOut(path: string, { excludeCollections }: Scope): boolean {
  return scopeContains({ collections: excludeCollections, includeSubcollections: true, excludeCollections: [] }, path);
}

async function counted(
  { signal }: Session,
  view: View,
  scope: Scope,
  { source }: ConnectedFirestore,
  { mode, deleteExtra }: RestoreOptions,
) {
  const readTime = await source.snapshotTime();
  return previewRestore({ view, source, readTime, mode, deleteExtra: deleteExtra === true, signal, scope });
}

async function preview(
  session: Session,
  view: View,
  scope: Scope,
  database: ConnectedFirestore,
  options: RestoreOptions,
): Promise<void> {
  const counts = await counted(session, view, scope, database, options);
  if (options.json) printJson({ dryRun: true, preview: counts });
  else
    printLine(
      Object.entries(counts)
        .map(([what, count]) => `${what} ${formatCount(count)}`)
        .join(', '),
    );
}

async function write(
  session: Session,
  backup: BackupReader,
  view: View,
  scope: Scope,
  database: ConnectedFirestore,
  options: RestoreOptions,
): Promise<void> {
  const { source, target } = database;
  if (options.deleteExtra)
    await confirm(async () => {
      const { delete: count } = await counted(session, view, scope, database, options);
      return `Delete ${countOf(count, 'document')} from ${source.database} that are not restored?`;
    }, options);
  const total = scope.documents?.length ?? view.body?.counts.documents ?? 0;
  const bar = new ProgressBar('Restoring', options);
  const readTime = await source.snapshotTime();
  const began = options.began ?? readTime;
  const how = {
    view,
    target,
    scope,
    mode: options.mode,
    rampUp: options.rampUp,
    rewriteReferences: options.rewriteReferences,
    signal: session.signal,
  };
  let reached: ApplyProgress | undefined;
  const puts = await restorePuts({
    ...how,
    ...(options.after === undefined ? {} : { after: options.after }),
    onProgress: (progress) => {
      reached = progress;
      const { written, skipped, failed } = progress;
      bar.update({ documents: written, share: (written + skipped + failed) / Math.max(total, 1) });
    },
  })
    .finally(() => bar.finish())
    .catch((error: unknown) => {
      throw isEngineError(error, 'CANCELLED') ? stopped(reached, options.deleteExtra ? began : undefined) : error;
    });
  const result = options.deleteExtra
    ? together(
        puts,
        await restoreDeletes({
          ...how,
          guard: leaveChanges,
          live: { source, readTime, began: instantToParts(began) },
        }),
      )
    : puts;
  const users = options.authUsers ? await restoreUsers(backup, database, options) : null;
  report(result, users, options.json === true);
}

/** Says how to continue, so that a long restore is not started again after Ctrl-C. */
function stopped(reached: ApplyProgress | undefined, began: string | undefined): CommandFailure {
  const after = reached?.settledThrough;
  const since = began === undefined ? '' : ` --began ${began}`;
  return new CommandFailure(
    'CANCELLED',
    `Stopped; ${countOf(reached?.written ?? 0, 'document')} written, which stay.`,
    {
      exit: exitCode.cancelled,
      remedy: after
        ? `The same command with --after '${after.replaceAll("'", "'\\''")}'${since} continues from there.`
        : 'The same command starts from the beginning.',
    },
  );
}

/** Documents that changed during the restore are not deleted. */
const leaveChanges: WriteGuard = {
  repeatedRecords: 0,
  former: async () => undefined,
  onMismatch: async ({ found }) => (found === null ? 'skip' : 'conflict'),
  onSettled: () => undefined,
};

function together(puts: ApplyResult, deletes: ApplyResult): ApplyResult {
  return {
    ...puts,
    deleted: deletes.deleted,
    conflicts: deletes.conflicts,
    failed: puts.failed + deletes.failed,
    errors: [...puts.errors, ...deletes.errors],
  };
}

async function restoreUsers(backup: BackupReader, { authUsers }: ConnectedFirestore, { mode }: RestoreOptions) {
  const section = backup.body.authUsers;
  if (section === null) return null;
  return await authUsers.importUsers(readUsers(backup), {
    hashConfiguration: section.hashConfiguration,
    mode: mode === 'skip_existing' ? 'skip_existing' : 'overwrite',
  });
}

function report(result: ApplyResult, users: { imported: number; failed: number } | null, isJson: boolean): void {
  if (isJson) printJson({ ...result, authUsers: users });
  else {
    printLine(
      `${formatCount(result.written)} written, ${formatCount(result.skipped)} skipped, ${formatCount(result.deleted)} deleted, ${formatCount(result.failed)} failed${result.conflicts > 0 ? `, ${formatCount(result.conflicts)} changed meanwhile and left` : ''}.`,
    );
    if (users !== null)
      printLine(`${formatCount(users.imported)} users imported, ${formatCount(users.failed)} failed.`);
    for (const { path, code, message } of result.errors) printLine(`  ${path}: ${code} ${message}`);
  }
  if (result.failed > 0 || (users?.failed ?? 0) > 0) process.exitCode = exitCode.partlyFailed;
}
