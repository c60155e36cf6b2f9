#!/usr/bin/env -S node --max-semi-space-size=2
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// A command starts in half the time from the second one on. Where the folder cannot be written, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
const { createProgram } = await import('./program.ts');
const { runCommand } = await import('./run-command.ts');
const { unread } = await import('./output.ts');

/** Whoever reads the output may stop early, as `head` does. Where it cannot be written, nothing that is left to say arrives. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? unread.exit);
  process.stderr.write(`The output could not be written: ${error.message}\n`);
  process.exit(1);
});

/** Who reads how it goes may stop as well: the work goes on, and the exit code tells what became of it. */
process.stderr.on('error', () => undefined);

await runCommand(await createProgram(process.argv), process.argv);
