import type { Command } from 'commander';
import { type ServiceOptions, serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { withService } from '../session.ts';
import { finishRestore } from './finish.ts';
import { showRestore } from './show.ts';

export function cancelCommand(): Command {
  return serviceCommand('cancel', 'stop a restore; what was written stays, and `restore undo` takes it back')
    .argument('<restore>', 'id')
    .action(
      async (restoreJobId: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          showRestore(await client.cancelRestore({ params: { restoreJobId } }), options);
        }),
    );
}

export function resumeCommand(): Command {
  return withWait(serviceCommand('resume', 'continue a failed or cancelled restore where it stopped'))
    .argument('<restore>', 'id')
    .action(
      async (restoreJobId: string, options: WaitOptions) =>
        await withService(options, async (service) => {
          await service.client.resumeRestore({ params: { restoreJobId } });
          await finishRestore(service, restoreJobId, options);
        }),
    );
}

interface UndoOptions extends WaitOptions {
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

export function undoCommand(): Command {
  return withWait(serviceCommand('undo', 'put back what a restore overwrote or deleted, and remove what it created'))
    .argument('<restore>', 'id')
    .option('--force', 'also where somebody changed a document since; what is there is saved first')
    .option('--dry-run', 'count what would be done, wait for the counts, write nothing')
    .action(
      async (restoreJobId: string, options: UndoOptions) =>
        await withService(options, async (service) => {
          const body = { force: options.force === true, dryRun: options.dryRun === true };
          const { id } = await service.client.undoRestore({ params: { restoreJobId }, body });
          await finishRestore(service, id, { ...options, wait: options.wait === true || body.dryRun });
        }),
    );
}
