import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { addCommand } from './add.ts';
import { collectionsCommand } from './collections.ts';
import { costCommand } from './cost.ts';
import { listCommand } from './list.ts';
import { reconnectCommand } from './reconnect.ts';
import { removeCommand } from './remove.ts';
import { showCommand } from './show.ts';
import { updateCommand } from './update.ts';

export function projectCommand(): Command {
  const commands = [
    listCommand,
    addCommand,
    showCommand,
    updateCommand,
    removeCommand,
    reconnectCommand,
    collectionsCommand,
    costCommand,
  ].map((command) => command());
  return groupCommand('project', 'the Firestore databases that are backed up', commands);
}
