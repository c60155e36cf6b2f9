import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { exportLines } from '@holdfast/engine';
import type { Command } from 'commander';
import { writeOut } from '../output.ts';
import { latestArgument } from './latest.ts';
import { type ScopeOptions, type StoreOptions, scopeOf, storeCommand, withScope } from './options.ts';
import { requireInBackup } from './require-named.ts';
import { viewOf, withSession } from './session.ts';

interface ExportOptions extends StoreOptions, ScopeOptions {
  readonly output?: string;
}

export function exportCommand(): Command {
  return withScope(storeCommand('export', 'write a backup as newline-delimited JSON, typed and lossless'))
    .argument(...latestArgument)
    .option('-o, --output <file>', 'a file instead of the output')
    .action(
      async (reference: string, options: ExportOptions) =>
        await withSession(options, async (session) => {
          const view = await viewOf(session, reference);
          const scope = scopeOf(options);
          await requireInBackup(view, scope, session.signal);
          const out = options.output === undefined ? process.stdout : createWriteStream(options.output);
          for await (const lines of exportLines(view, { scope }, session)) await writeOut(out, lines);
          if (out === process.stdout) return;
          out.end();
          await finished(out);
        }),
    );
}
