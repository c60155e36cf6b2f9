#!/usr/bin/env -S node --max-semi-space-size=2
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Halves the time of every start after the first. If the folder is not writable, nothing is stored.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
const { createProgram } = await import('./program.ts');
const { runCommand } = await import('./run-command.ts');
const { unread } = await import('./output.ts');

/** A reader of the output may stop early, as `head` does. If the output cannot be written, nothing more can arrive. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? unread.exit);
  process.stderr.write(`The output could not be written: ${error.message}\n`);
  process.exit(1);
});

/** The reader of the progress may stop as well: the work continues, and the exit code says how it ended. */
process.stderr.on('error', () => undefined);

await runCommand(await createProgram(process.argv), process.argv);
