import type { Command } from 'commander';
import { groupCommand } from '../options.ts';
import { addCommand } from './add.ts';
import { deleteCommand, rotateSecretCommand, switchCommands, testCommand } from './change.ts';
import { deliveriesCommand, recoverCommand, requestCommand, retryCommand } from './deliveries.ts';
import { listCommand, showCommand } from './list.ts';

export function webhookCommand(): Command {
  const commands = [
    listCommand,
    showCommand,
    addCommand,
    testCommand,
    deliveriesCommand,
    requestCommand,
    retryCommand,
    recoverCommand,
    rotateSecretCommand,
    ...switchCommands,
    deleteCommand,
  ].map((command) => command());
  return groupCommand('webhook', 'who is told of what happens', commands);
}
