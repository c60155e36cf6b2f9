import { backupTriggers, backupTypes, jobStatuses } from '@holdfast/contract';
import { type Command, Option } from 'commander';
import { formatBytes, formatCount } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, listCommand as listOf } from '../options.ts';
import { projectIdOf, projectNames, storageIdOf } from '../references.ts';
import { withService } from '../session.ts';

interface BackupListOptions extends ListOptions {
  readonly project?: string;
  readonly status?: (typeof jobStatuses)[number];
  readonly type?: (typeof backupTypes)[number];
  readonly trigger?: (typeof backupTriggers)[number];
  readonly storage?: string;
  readonly from?: string;
  readonly to?: string;
}

const head = ['ID', 'TYPE', 'TRIGGER', 'STATUS', 'CREATED', 'DOCUMENTS', 'STORED', 'PROJECT'];

export function listCommand(): Command {
  return listOf('list the backups, newest first')
    .option('-p, --project <project>', 'only of this project')
    .addOption(new Option('--status <status>', 'only in this state').choices(jobStatuses))
    .addOption(new Option('--type <type>', 'only of this kind').choices(backupTypes))
    .addOption(new Option('--trigger <trigger>', 'only what was started so').choices(backupTriggers))
    .option('--storage <destination>', 'only backups in this destination')
    .option('--from <time>', 'made at this time or date, or later')
    .option('--to <time>', 'made before this time, or on this date')
    .action(
      async (options: BackupListOptions) =>
        await withService(options, async ({ client }) => {
          const { project, status, type, trigger, storage, from, to, limit } = options;
          const projectId = project === undefined ? undefined : await projectIdOf(client, project);
          const storageDestinationId = storage === undefined ? undefined : await storageIdOf(client, storage);
          const query = { status, type, trigger, from, to, projectId, storageDestinationId, limit: pageSize(limit) };
          const nameOf = options.json ? String : await projectNames(client);
          await printList('backups', client.paginate('listBackups', { query }), options, {
            head,
            row: (backup) => [
              backup.id,
              backup.type,
              backup.trigger,
              backup.status === 'running' ? `${backup.progress.percent} %` : backup.status,
              backup.createdAt,
              backup.documentCount === null ? '' : formatCount(backup.documentCount),
              backup.compressedSize === null ? '' : formatBytes(backup.compressedSize),
              nameOf(backup.projectId),
            ],
          });
        }),
    );
}
