import type { Command } from 'commander';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, listCommand as listOf } from '../options.ts';
import { projectIdOf, projectNames } from '../references.ts';
import { withService } from '../session.ts';
import { keptSentence } from './show.ts';

export function listCommand(): Command {
  return listOf('list schedules')
    .option('-p, --project <project>', 'only those of this project')
    .action(
      async (options: ListOptions & { project?: string }) =>
        await withService(options, async ({ client }) => {
          const projectId = options.project && (await projectIdOf(client, options.project));
          const query = { limit: pageSize(options.limit), ...(projectId && { projectId }) };
          const nameOf = options.json ? String : await projectNames(client);
          await printList('schedules', client.paginate('listSchedules', { query }), options, {
            head: ['ID', 'NAME', 'CRON', 'TIME ZONE', 'NEXT RUN', 'LAST RUN', 'KEPT', 'PROJECT'],
            row: (schedule) => [
              schedule.id,
              schedule.name,
              schedule.cron,
              schedule.timezone,
              schedule.nextRunAt ?? 'paused',
              schedule.lastRun?.status ?? '',
              keptSentence(schedule),
              nameOf(schedule.projectId),
            ],
          });
        }),
    );
}
