import type { Command } from 'commander';
import { type ServiceOptions, serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { withService } from '../session.ts';
import { finishRestore } from './finish.ts';
import { showRestore } from './show.ts';

export function cancelCommand(): Command {
  return serviceCommand('cancel', 'stop a restore; what was written stays, and the safety backup undoes it')
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
