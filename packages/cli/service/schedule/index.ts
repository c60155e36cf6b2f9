import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { addCommand, deleteCommand, editCommand, pauseCommand, resumeCommand, runCommand } from './change.ts';
import { listCommand } from './list.ts';
import { previewCommand } from './preview.ts';
import { showCommand } from './show.ts';

export function scheduleCommand(): Command {
  const commands = [
    listCommand,
    addCommand,
    showCommand,
    editCommand,
    runCommand,
    pauseCommand,
    resumeCommand,
    previewCommand,
    deleteCommand,
  ].map((command) => command());
  return groupCommand('schedule', 'backups that start by themselves', commands);
}
