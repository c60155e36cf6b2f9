import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { printLine } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';

export function keygenCommand(): Command {
  return new Command('keygen')
    .description('make a key file; whoever loses it loses the backups')
    .argument('<file>', 'where to write it; an existing file is never replaced')
    .action(async (file: string) => {
      await writeWholeFile(file, [`${randomBytes(32).toString('base64')}\n`], { isNew: true, mode: 0o600 });
      printLine(`Wrote ${file}. Keep a copy somewhere else.`);
    });
}
