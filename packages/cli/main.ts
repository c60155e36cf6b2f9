#!/usr/bin/env -S node --max-semi-space-size=2
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// A command starts in half the time from the second one on. Where the folder cannot be written, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
const { createProgram } = await import('./program.ts');
const { runCommand } = await import('./run-command.ts');

/** Whoever reads the output may stop early, as `head` does. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await runCommand(await createProgram(process.argv), process.argv);
