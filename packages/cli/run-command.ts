import { type Command, CommanderError } from 'commander';
import { exitCode } from './exit-codes.ts';
import type { Failure } from './failure.ts';

/** Runs a command line and turns every failure into a sentence and an exit code. */
export async function runCommand(program: Command, argv: readonly string[]): Promise<void> {
  exitByException(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = await report(error, argv.includes('--json'));
  }
}

/** Commander would end the process on its own, subcommands too. */
function exitByException(command: Command): void {
  command.exitOverride();
  for (const nested of command.commands) exitByException(nested);
}

async function report(error: unknown, isJson: boolean): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  // Knows the errors of the engine and of the service, whose libraries a good run does not both wait for.
  const { failureOf } = await import('./failure.ts');
  const failure = failureOf(error);
  if (isJson) {
    const { code, message, remedy, details, requestId } = failure;
    process.stdout.write(`${JSON.stringify({ error: { code, message, remedy, details, requestId } })}\n`);
  } else process.stderr.write(`${sentencesOf(failure)}\n`);
  return failure.exit;
}

function sentencesOf({ code, message, remedy, requestId, stack }: Failure): string {
  if (stack !== undefined) return stack;
  const lines = [`${code}: ${message}`];
  if (remedy) lines.push(remedy);
  if (requestId) lines.push(`Request ${requestId}`);
  return lines.join('\n');
}
