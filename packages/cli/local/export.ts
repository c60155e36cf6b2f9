import { exportLines } from '@holdfast/engine';
import type { Command } from 'commander';
import { writeOut } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';
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
          const text = exportLines(view, { scope }, session);
          if (options.output !== undefined) await writeWholeFile(options.output, text);
          else for await (const lines of text) await writeOut(process.stdout, lines);
        }),
    );
}
