import {
  type ForeignFormat,
  openForeignView,
  systemClock,
  withCleanupOnFailure,
  withScratch,
  writeViewAsBackup,
} from '@holdfast/engine';
import { type Command, Option } from 'commander';
import { formatCount, printJson, printLine } from '../output.ts';
import { newBackupId } from './new-backup-id.ts';
import { openStore } from './open-store.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { withSession } from './session.ts';

interface ImportOptions extends StoreOptions {
  readonly from: string;
  readonly format: ForeignFormat;
  readonly project: string;
  readonly database: string;
}

export function importCommand(): Command {
  return storeCommand(
    'import',
    'make a backup of a foreign file: a managed export folder, the JSON of version 1, or lines that were exported',
  )
    .argument('<path>', 'the folder or file inside --from')
    .requiredOption('--from <address>', 'the store that holds it')
    .addOption(
      new Option('--format <format>', 'what it is')
        .choices(['firestore-export', 'json', 'ndjson'])
        .makeOptionMandatory(),
    )
    .requiredOption('-p, --project <id>', 'the project it belongs to')
    .option('-d, --database <id>', 'database of the project', '(default)')
    .action(
      async (path: string, options: ImportOptions) =>
        await withSession(
          options,
          async (session) => {
            const from = await openStore(options.from);
            const database = `projects/${options.project}/databases/${options.database}`;
            const written = await withScratch(async (scratch) => {
              const warnings: string[] = [];
              const onWarning = (text: string) => {
                warnings.push(text);
                process.stderr.write(`${text}\n`);
              };
              const view = await openForeignView({
                ...session,
                onWarning,
                store: from,
                path,
                format: options.format,
                database,
                scratch,
              });
              const given = {
                database,
                records: view.records({}, session),
                type: 'full' as const,
                warnings: warnings.slice(0, 100),
                snapshotTime: systemClock.now(),
                importedFrom: options.format,
              };
              const made = { ...session, backupId: newBackupId() };
              return await withCleanupOnFailure(made, ({ store }) => writeViewAsBackup(given, { ...made, store }));
            }).finally(() => from.close());
            const { backupId, counts } = written.body;
            if (options.json) printJson({ backupId, ...counts, sha256: written.manifestSha256 });
            else printLine(`${backupId}  ${formatCount(counts.documents)} documents imported`);
          },
          { isMade: true },
        ),
    );
}
