#!/usr/bin/env -S node --max-semi-space-size=2
import { createProgram } from './program.ts';
import { runCommand } from './run-command.ts';

/** Whoever reads the output may stop early, as `head` does. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await runCommand(await createProgram(process.argv), process.argv);
