import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { cancelCommand, resumeCommand, undoCommand } from './change.ts';
import { listCommand } from './list.ts';
import { showCommand } from './show.ts';
import { startCommand } from './start.ts';

export function restoreCommand(): Command {
  const commands = [listCommand, showCommand, cancelCommand, resumeCommand, undoCommand].map((command) => command());
  return groupCommand(
    'restore',
    'restore a backup (`restore <backup>`), and everything about restores',
    commands,
    startCommand(),
  );
}
