import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { browseCommand } from './browse.ts';
import { cancelCommand, deleteCommand, holdCommand, releaseCommand } from './change.ts';
import { createCommand } from './create.ts';
import { diffCommand } from './diff.ts';
import { exportCommand } from './export.ts';
import { getCommand } from './get.ts';
import { importCommand } from './import.ts';
import { listCommand } from './list.ts';
import { showCommand } from './show.ts';
import { verifyCommand } from './verify.ts';

export function backupCommand(): Command {
  const commands = [
    listCommand,
    showCommand,
    cancelCommand,
    verifyCommand,
    deleteCommand,
    holdCommand,
    releaseCommand,
    browseCommand,
    getCommand,
    diffCommand,
    exportCommand,
    importCommand,
  ].map((command) => command());
  return groupCommand(
    'backup',
    'back up a project (`backup <project>`), and everything about backups',
    commands,
    createCommand(),
  );
}
