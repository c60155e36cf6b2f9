import { jobStatuses } from '@holdfast/contract';
import { type Command, Option } from 'commander';
import { formatCount } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, listCommand as listOf } from '../options.ts';
import { projectIdOf, projectNames } from '../references.ts';
import { withService } from '../session.ts';

interface RestoreListOptions extends ListOptions {
  readonly target?: string;
  readonly backup?: string;
  readonly status?: (typeof jobStatuses)[number];
}

export function listCommand(): Command {
  return listOf('list the restores, newest first')
    .option('-t, --target <project>', 'only into this project')
    .option('-b, --backup <backup>', 'only of this backup')
    .addOption(new Option('--status <status>', 'only in this state').choices(jobStatuses))
    .action(
      async (options: RestoreListOptions) =>
        await withService(options, async ({ client }) => {
          const { target, backup: backupId, status, limit } = options;
          const targetProjectId = target === undefined ? undefined : await projectIdOf(client, target);
          const query = { targetProjectId, backupId, status, limit: pageSize(limit) };
          const nameOf = options.json ? String : await projectNames(client);
          await printList('restores', client.paginate('listRestores', { query }), options, {
            head: ['ID', 'STATUS', 'PHASE', 'CREATED', 'RESTORED', 'BACKUP', 'TARGET'],
            row: (restore) => [
              restore.id,
              restore.status === 'running' ? `${restore.progress.percent} %` : restore.status,
              restore.phase,
              restore.createdAt,
              formatCount(restore.documentsRestored),
              restore.backupId ?? restore.pointInTime ?? '',
              nameOf(restore.targetProjectId),
            ],
          });
        }),
    );
}
