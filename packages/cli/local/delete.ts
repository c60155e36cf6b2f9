import { deleteBackup, EngineError, listBackups } from '@holdfast/engine';
import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../confirm.ts';
import { printJson, printLine } from '../output.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { withSession } from './session.ts';

const keptNote = ' The bucket keeps versions: they are hidden, not gone, until a rule of the bucket removes them.';

export function deleteCommand(): Command {
  return withYes(storeCommand('delete', 'remove a backup; refused while others depend on it'))
    .argument('<backup>', 'id')
    .action(
      async (backupId: string, options: StoreOptions & ConfirmOptions) =>
        await withSession(options, async ({ store, keys, codec, signal }) => {
          let isThere = false;
          for await (const entry of listBackups(store, keys, codec, { signal })) {
            isThere ||= entry.backupId === backupId;
            if (entry.body?.parent?.backupId !== backupId) continue;
            throw new EngineError(
              'VALIDATION_ERROR',
              `${entry.backupId} depends on ${backupId}; merge or delete it first.`,
            );
          }
          if (!isThere) throw new EngineError('STORAGE_NOT_FOUND', `There is no backup ${backupId}.`);
          await confirm(`Delete the backup ${backupId} from ${store.location}?`, options);
          const { objects, versionsKept } = await deleteBackup(store, backupId, { signal });
          if (options.json) printJson({ deleted: backupId, objects, versionsKept });
          else printLine(`Removed ${backupId}: ${objects} objects.${versionsKept ? keptNote : ''}`);
        }),
    );
}
