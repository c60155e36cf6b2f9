import { writeFile } from 'node:fs/promises';
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
          const kit = await client.takeRecoveryKit();
          await writeFile(file, String(kit), { mode: 0o600, flag: 'wx' });
          if (options.json) printJson({ file });
          else printLine(`Wrote ${file}. Keep it where the service cannot get lost with it.`);
        }),
    );
}
