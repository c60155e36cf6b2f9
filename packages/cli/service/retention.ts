import type { Command } from 'commander';
import { pageSize, printList } from './lists.ts';
import { groupCommand, type ListOptions, listCommand } from './options.ts';
import { scheduleIdOf } from './references.ts';
import { scheduleArgument } from './schedule/show.ts';
import { withService } from './session.ts';

export function retentionCommand(): Command {
  return groupCommand('retention', 'what is kept and what goes', [previewCommand()]);
}

function previewCommand(): Command {
  return listCommand('what keeps each backup of a schedule, or that it goes and when')
    .name('preview')
    .argument(...scheduleArgument)
    .action(
      async (reference: string, options: ListOptions) =>
        await withService(options, async ({ client }) => {
          const params = { scheduleId: await scheduleIdOf(client, reference) };
          const entries = client.paginate('previewRetention', { params, query: { limit: pageSize(options.limit) } });
          await printList('backups', entries, options, {
            head: ['BACKUP', 'COUNTS FROM', 'TYPE', 'KEPT BY', 'GOES'],
            row: (entry) => [
              entry.backupId,
              entry.countsFrom,
              entry.type,
              entry.keptBy.map(({ rule }) => rule).join(', ') || 'nothing',
              entry.removedAt ?? '',
            ],
          });
        }),
    );
}
