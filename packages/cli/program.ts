import { Command } from 'commander';
import { completionCommand } from './completion/index.ts';
import { exitCodeHelp } from './exit-codes.ts';
import manifest from './package.json' with { type: 'json' };

/**
 * `holdfast local …` works directly on a store and a database; everything else calls a service. Each half has its own
 * libraries that load slowly, so only the needed half is loaded.
 */
export async function createProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('holdfast').description('Backups for Firestore').version(manifest.version);
  const isAll = argv[2] === 'completion';
  const isLocal = argv[2] === 'local' || (argv[2] === 'help' && argv[3] === 'local');
  if (!isLocal)
    for (const command of (await import('./service/index.ts')).serviceCommands()) program.addCommand(command);
  const local = isLocal || isAll ? (await import('./local/index.ts')).localCommand() : new Command('local');
  return program
    .addCommand(local.description('work on a store directly, without a service'))
    .addCommand(completionCommand(program))
    .addHelpText('after', exitCodeHelp);
}
