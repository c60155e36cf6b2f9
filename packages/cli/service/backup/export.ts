import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { countOf, formatBytes, printJson, printLine, writeOut } from '../../output.ts';
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
    .option('-c, --collection <path>', 'only this collection')
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
  const isFile = await writeTo(output, counted(stream.text(), written));
  // What is no file may well be the output itself: nothing comes behind the documents.
  if (!isFile) return;
  if (json) printJson(written);
  else printLine(`Wrote ${countOf(written.documents, 'document')} (${formatBytes(written.bytes)}) to ${output}.`);
}

/** One document a line. */
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

/**
 * A file gets its name when it is whole: half an export is never taken for one. Through a link it is the file behind it; what
 * is no file, such as a pipe or a device, is written into and stays what it is.
 */
async function writeTo(output: string, text: AsyncIterable<string>): Promise<boolean> {
  const path = await realpath(output).catch(() => output);
  const there = await stat(path).catch(() => undefined);
  if (there?.isFIFO() || there?.isCharacterDevice() || there?.isSocket()) {
    await pipeline(text, createWriteStream(path));
    return false;
  }
  const draft = `${path}.partial`;
  try {
    await pipeline(text, createWriteStream(draft));
    await rename(draft, path);
    return true;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
