import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { printJson, printLine } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { withService } from './session.ts';

export function recoveryKitCommand(): Command {
  return serviceCommand('recovery-kit', 'save the keys that open the backups when the service is gone (owner)')
    .argument('[file]', 'where to', 'recovery-kit.txt')
    .action(
      async (file: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          // Writes the file first: a kit that was taken but not saved would stop the reminders.
          await writeWholeFile(file, kitOf(client), { isNew: true, mode: 0o600 });
          if (options.json) printJson({ file });
          else printLine(`Wrote ${file}. Keep it where the service cannot get lost with it.`);
        }),
    );
}

async function* kitOf(client: Client): AsyncGenerator<string> {
  yield String(await client.takeRecoveryKit());
}
