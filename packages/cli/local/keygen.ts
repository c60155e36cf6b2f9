import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { printLine } from '../output.ts';

export function keygenCommand(): Command {
  return new Command('keygen')
    .description('make a key file; whoever loses it loses the backups')
    .argument('<file>', 'where to write it; an existing file is never replaced')
    .action(async (file: string) => {
      await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
      printLine(`Wrote ${file}. Keep a copy somewhere else.`);
    });
}
