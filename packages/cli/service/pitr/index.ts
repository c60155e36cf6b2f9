import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { historyCommand } from './history.ts';
import { browseCommand, diffCommand, exportCommand, getCommand } from './look.ts';
import { restoreCommand } from './restore.ts';
import { disableCommand, enableCommand, statusCommand } from './switch.ts';

export function pitrCommand(): Command {
  const commands = [
    enableCommand,
    statusCommand,
    disableCommand,
    historyCommand,
    browseCommand,
    getCommand,
    diffCommand,
    exportCommand,
    restoreCommand,
  ];
  return groupCommand(
    'pitr',
    'point-in-time recovery: every change captured, any moment back',
    commands.map((command) => command()),
  );
}
