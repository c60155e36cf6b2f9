import { importSources } from '@holdfast/contract';
import { type Command, Option } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { reportEnd, waitForJob } from '../jobs.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { projectIdOf, storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { showBackup } from './show.ts';

interface ImportOptions extends WaitOptions {
  readonly project: string;
  readonly storage: string;
  readonly source: (typeof importSources)[number];
  readonly createdAt?: string;
}

export function importCommand(): Command {
  return withWait(serviceCommand('import', 'make a backup of a file or folder that lies in a destination'))
    .argument('<path>', 'its path below the prefix of the destination')
    .requiredOption('-p, --project <project>', 'whose backup it becomes: id or name')
    .requiredOption('-s, --storage <storage>', 'the destination it lies in: id or name')
    .addOption(
      new Option('--source <source>', 'what wrote it')
        .choices(importSources)
        .default('json', 'json: collections hold documents by id'),
    )
    .option('--created-at <time>', 'when the data was current; absent: when the file was last changed')
    .action(
      async (path: string, options: ImportOptions) =>
        await withService(options, async (service) => {
          const { source, createdAt } = options;
          const answer = await service.client.importBackup({
            body: {
              projectId: await projectIdOf(service.client, options.project),
              storageDestinationId: await storageIdOf(service.client, options.storage),
              path,
              metadata: { source, type: 'full', ...(createdAt && { createdAt }) },
            },
          });
          if (!options.wait) return options.json ? printJson(answer) : printLine(`${answer.id} ${answer.status}`);
          const backup = await waitForJob(service, answer.id, options);
          if (!('restoreJobId' in backup)) showBackup(backup, options);
          reportEnd(backup);
        }),
    );
}
