import { isEngineError } from '@holdfast/engine';
import { type Command, CommanderError } from 'commander';
import { exitCode, exitCodeOf } from './exit-codes.ts';

/** Runs a command line and turns every failure into a sentence and an exit code. */
export async function runCommand(program: Command, argv: readonly string[]): Promise<void> {
  exitByException(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error, argv.includes('--json'));
  }
}

/** Commander would end the process on its own, subcommands too. */
function exitByException(command: Command): void {
  command.exitOverride();
  for (const nested of command.commands) exitByException(nested);
}

function report(error: unknown, isJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  const known = isEngineError(error);
  const message = error instanceof Error ? error.message : String(error);
  if (isJson) {
    const code = known ? error.code : 'INTERNAL_ERROR';
    const details = known ? { remedy: error.remedy, details: error.details } : {};
    process.stdout.write(`${JSON.stringify({ error: { code, message, ...details } })}\n`);
  } else
    process.stderr.write(
      `${known ? `${error.code}: ${message}\n${error.remedy}` : ((error as Error).stack ?? message)}\n`,
    );
  return known ? exitCodeOf(error.code) : exitCode.unexpected;
}
