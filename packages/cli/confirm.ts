import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { CommandFailure, wrongUsage } from './command-failure.ts';
import { exitCode } from './exit-codes.ts';

/** For every command that deletes something. */
export interface ConfirmOptions {
  readonly yes?: boolean;
}

export function withYes(command: Command): Command {
  return command.option('-y, --yes', 'do it without asking; needed where there is no terminal to ask at');
}

/**
 * Returns once somebody at the terminal has typed y, or if --yes was given. Otherwise it throws before anything is
 * done. The question is a function if it has to be looked up first: with --yes nobody reads it.
 */
export async function confirm(
  question: string | (() => string | Promise<string>),
  { yes }: ConfirmOptions,
): Promise<void> {
  if (yes) return;
  const text = typeof question === 'string' ? question : await question();
  if (!process.stdin.isTTY)
    throw wrongUsage(`${text} There is no terminal to ask at, so nothing was done.`, 'Say yes with --yes.');
  if (/^y(es)?$/i.test((await ask(`${text} [y/N] `)).trim())) return;
  throw new CommandFailure('CANCELLED', 'Nothing was done.', { exit: exitCode.cancelled });
}

/** Uses the error stream, because the output may go into a file. The end of the input and Ctrl-C count as no answer. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    return await Promise.race([terminal.question(question), closed]);
  } finally {
    terminal.close();
  }
}
