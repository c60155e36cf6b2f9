import { mergeChain, withCleanupOnFailure } from '@holdfast/engine';
import type { Command } from 'commander';
import { formatCount, printJson, printLine } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { newBackupId } from './new-backup-id.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { chainOf, withSession } from './session.ts';

export function mergeCommand(): Command {
  return storeCommand('merge', 'merge a chain into a full backup without reading the database')
    .argument('<backup>', 'the end of the chain: id, latest or latest:<project>')
    .action(
      async (reference: string, options: StoreOptions) =>
        await withSession(options, async (session) => {
          const chain = await chainOf(session, reference);
          const bar = new ProgressBar('Merging', options);
          const made = { ...session, backupId: newBackupId() };
          const onProgress = (documents: number) => bar.update({ documents });
          const { body } = await withCleanupOnFailure(made, ({ store }) =>
            mergeChain(chain, { ...made, store, onProgress }),
          ).finally(() => bar.finish());
          if (options.json) printJson({ backupId: body.backupId, mergedFrom: body.mergedFrom, ...body.counts });
          else
            printLine(
              `${body.backupId}  ${formatCount(body.counts.documents)} documents of ${body.mergedFrom.length} backups`,
            );
        }),
    );
}
