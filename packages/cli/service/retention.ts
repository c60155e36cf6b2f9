import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../confirm.ts';
import { printJson, printLine } from '../output.ts';
import { pageSize, printList } from './lists.ts';
import { groupCommand, type ListOptions, listCommand, type ServiceOptions, serviceCommand } from './options.ts';
import { projectArgument } from './project/show.ts';
import { projectIdOf, scheduleIdOf } from './references.ts';
import { scheduleArgument } from './schedule/show.ts';
import { withService } from './session.ts';

export function retentionCommand(): Command {
  return groupCommand('retention', 'what is kept and what goes', [previewCommand(), unfreezeCommand()]);
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

function unfreezeCommand(): Command {
  return withYes(
    serviceCommand('unfreeze', 'let retention of a project continue after an anomaly that you have looked at'),
  )
    .argument(...projectArgument)
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference) };
          await confirm(
            `Let retention of ${reference} continue? Backups that its rules no longer keep are removed within minutes.`,
            options,
          );
          const project = await client.unfreezeRetention({ params });
          if (options.json) printJson(project);
          else printLine(`Retention of ${project.name} goes on.`);
        }),
    );
}
