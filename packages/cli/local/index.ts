import { Command } from 'commander';
import { backupCommand } from './backup.ts';
import { browseCommand } from './browse.ts';
import { deleteCommand } from './delete.ts';
import { diffCommand } from './diff.ts';
import { exportCommand } from './export.ts';
import { importCommand } from './import.ts';
import { keygenCommand } from './keygen.ts';
import { listCommand } from './list.ts';
import { mergeCommand } from './merge.ts';
import { restoreCommand } from './restore.ts';
import { rewrapCommand } from './rewrap.ts';
import { verifyCommand } from './verify.ts';

/** Everything that works without the service, with only the store and the key. */
export function localCommand(): Command {
  const local = new Command('local');
  const commands = [
    keygenCommand,
    backupCommand,
    listCommand,
    browseCommand,
    verifyCommand,
    diffCommand,
    restoreCommand,
    exportCommand,
    importCommand,
    mergeCommand,
    rewrapCommand,
    deleteCommand,
  ];
  for (const command of commands) local.addCommand(command());
  return local;
}
