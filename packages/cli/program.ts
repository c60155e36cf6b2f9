import { Command } from 'commander';
import { exitCodeHelp } from './exit-codes.ts';
import { localCommand } from './local/index.ts';
import { serviceCommands } from './service/index.ts';

/** `holdfast local …` works on a store and a database directly; everything else asks a service. */
export function createProgram(): Command {
  const program = new Command('holdfast').description('Backups for Firestore').version('2.0.0').showHelpAfterError();
  for (const command of serviceCommands()) program.addCommand(command);
  return program.addCommand(localCommand()).addHelpText('after', exitCodeHelp);
}
