#!/usr/bin/env node
import { Command } from 'commander';
import { localCommand } from './local/index.ts';
import { runCommand } from './run-command.ts';

/** `holdfast local …` works on a store and a database directly, without any service. */
const program = new Command('holdfast')
  .description('Backups for Firestore')
  .version('2.0.0')
  .showHelpAfterError()
  .addCommand(localCommand());

await runCommand(program, process.argv);
