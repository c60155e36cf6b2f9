import { open, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { printJson, printLine } from '../output.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { withService } from './session.ts';

export function recoveryKitCommand(): Command {
  return serviceCommand('recovery-kit', 'write down the keys that open the backups when the service is gone (owner)')
    .argument('[file]', 'where to', 'recovery-kit.txt')
    .action(
      async (file: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          // The file first: a kit that was taken and could not be kept would stop the reminders.
          const kept = await open(file, 'wx', 0o600);
          try {
            await kept.writeFile(String(await client.takeRecoveryKit()));
            await kept.sync();
          } catch (error) {
            await rm(file, { force: true });
            throw error;
          } finally {
            await kept.close();
          }
          if (options.json) printJson({ file });
          else printLine(`Wrote ${file}. Keep it where the service cannot get lost with it.`);
        }),
    );
}
