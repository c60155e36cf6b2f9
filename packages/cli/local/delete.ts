import { type CatalogueEntry, deleteBackup, EngineError, listBackups } from '@holdfast/engine';
import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../confirm.ts';
import { printJson, printLine } from '../output.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { type Session, withSession } from './session.ts';

const keptNote = ' The bucket keeps versions: they are hidden, not gone, until a rule of the bucket removes them.';

export function deleteCommand(): Command {
  return withYes(storeCommand('delete', 'remove a backup; refused while others depend on it'))
    .argument('<backup>', 'id')
    .option('--force', 'delete it although others that this key does not open may depend on it')
    .action(
      async (backupId: string, options: StoreOptions & ConfirmOptions & { force?: true }) =>
        await withSession(options, async (session) => {
          const { store, signal } = session;
          await requireUnused(session, backupId, options);
          await confirm(`Delete the backup ${backupId} from ${store.location}?`, options);
          // A backup may have been built on it while the question was waiting.
          await requireUnused(session, backupId, options);
          const { objects, versionsKept } = await deleteBackup(store, backupId, { signal });
          if (options.json) printJson({ deleted: backupId, objects, versionsKept });
          else printLine(`Removed ${backupId}: ${objects} objects.${versionsKept ? keptNote : ''}`);
        }),
    );
}

async function requireUnused(
  { store, keys, codec, signal }: Session,
  backupId: string,
  { force }: { force?: true },
): Promise<void> {
  let isThere = false;
  let unread: CatalogueEntry | undefined;
  for await (const entry of listBackups(store, keys, codec, { signal })) {
    isThere ||= entry.backupId === backupId;
    if (entry.problem !== null && entry.backupId !== backupId) unread ??= entry;
    if (entry.body?.parent?.backupId !== backupId) continue;
    throw new EngineError('VALIDATION_ERROR', `${entry.backupId} depends on ${backupId}; merge or delete it first.`);
  }
  if (!isThere) throw new EngineError('STORAGE_NOT_FOUND', `There is no backup ${backupId}.`);
  if (unread && !force)
    throw new EngineError(
      'VALIDATION_ERROR',
      `Nobody knows whether ${unread.backupId} depends on ${backupId}: ${unread.problem?.message} Give its key, or --force.`,
    );
}
