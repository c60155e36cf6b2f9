import type { Command } from 'commander';
import { countOf, formatBytes, printJson, printLine, writeOut } from '../../output.ts';
import { collectionPath } from '../../paths.ts';
import { writeWholeFile } from '../../whole-file.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { backupArgument } from './show.ts';

interface ExportOptions extends ServiceOptions {
  readonly collection?: string;
  readonly output?: string;
}

export function exportCommand(): Command {
  return serviceCommand('export', 'write a backup as newline-delimited JSON, one document a line')
    .argument(...backupArgument)
    .option('-c, --collection <path>', 'only this collection', collectionPath)
    .option('-o, --output <file>', 'into this file instead of the output')
    .action(
      async (reference: string, options: ExportOptions) =>
        await withService(options, async ({ client }) => {
          const { collection } = options;
          const backupId = await backupIdOf(client, reference);
          await writeExport(await client.exportBackup({ params: { backupId }, query: { collection } }), options);
        }),
    );
}

export async function writeExport(
  stream: { text(): AsyncIterable<string> },
  { output, json }: { readonly output?: string; readonly json?: boolean },
): Promise<void> {
  if (output === undefined) {
    for await (const text of stream.text()) await writeOut(process.stdout, text);
    return;
  }
  const written = { file: output, documents: 0, bytes: 0 };
  const isFile = await writeWholeFile(output, counted(stream.text(), written));
  // Anything but a file may be the output itself, so nothing is printed after the documents.
  if (!isFile) return;
  if (json) printJson(written);
  else printLine(`Wrote ${countOf(written.documents, 'document')} (${formatBytes(written.bytes)}) to ${output}.`);
}

/** One document per line. */
async function* counted(
  texts: AsyncIterable<string>,
  count: { documents: number; bytes: number },
): AsyncGenerator<string> {
  for await (const text of texts) {
    count.bytes += Buffer.byteLength(text);
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count.documents += 1;
    yield text;
  }
}
