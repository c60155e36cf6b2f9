import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { addCommand } from './add.ts';
import { listCommand } from './list.ts';
import { removeCommand } from './remove.ts';
import { showCommand } from './show.ts';
import { migrateCommand, purgeCommand, rescanCommand, sweepCommand } from './task.ts';
import { testCommand } from './test.ts';
import { updateCommand } from './update.ts';

export function storageCommand(): Command {
  const commands = [
    listCommand,
    addCommand,
    updateCommand,
    testCommand,
    showCommand,
    migrateCommand,
    removeCommand,
    rescanCommand,
    sweepCommand,
    purgeCommand,
  ].map((command) => command());
  return groupCommand('storage', 'where backups go', commands);
}
