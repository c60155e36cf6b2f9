import type { Command } from 'commander';
import { formatCount } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { type ListOptions, listCommand as listOf } from '../options.ts';
import { withService } from '../session.ts';

export function listCommand(): Command {
  return listOf('list the projects that are backed up').action(
    async (options: ListOptions) =>
      await withService(options, async ({ client }) => {
        const query = { limit: pageSize(options.limit) };
        await printList('projects', client.paginate('listProjects', { query }), options, {
          head: ['ID', 'NAME', 'SOURCE', 'DATABASE', 'CONNECTION', 'BACKUPS', 'LAST BACKUP'],
          row: (project) => [
            project.id,
            project.name,
            project.sourceProjectId,
            project.databaseId,
            project.connection.status,
            formatCount(project.statistics.backupCount),
            project.statistics.lastBackupAt ?? '',
          ],
        });
      }),
  );
}
