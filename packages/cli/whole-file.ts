import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CommandFailure } from './command-failure.ts';
import { exitCode } from './exit-codes.ts';
import { fileSentence } from './file-sentence.ts';

type Text = AsyncIterable<string> | Iterable<string>;

interface WholeFileOptions {
  /** Takes the place of no other file. The name is claimed before the first piece of the text is asked for. */
  readonly isNew?: boolean;
  /** Who may use it; without it as the file before it, or as usual. */
  readonly mode?: number;
}

/**
 * Writes a file whole or not at all: it gets its name when the last byte is on the disk, and whatever ends the text early leaves the
 * file of before and nothing else. Two that write the same file have a draft each; the last to end wins. Through a link
 * it is the file behind it. What is no file, such as a pipe or a device, is written into and stays what it is; then the answer is false.
 */
export async function writeWholeFile(output: string, text: Text, options: WholeFileOptions = {}): Promise<boolean> {
  if (output === '') throw new CommandFailure('FILE_ERROR', 'The name of the file is empty.', { exit: exitCode.usage });
  const path = await realpath(output).catch(() => output);
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() || output.endsWith('/')) throw fileFailure(output, { code: 'EISDIR' });
  if (options.isNew) await claimed(output, () => writeDraft(output, path, text, options));
  else if (there === undefined || there.isFile()) await writeDraft(output, path, text, options, there);
  else await writeInto(output, await step(output, () => open(path, 'w')), text);
  return there === undefined || there.isFile();
}

/** An empty file holds the name for the draft. Not every disk knows links, the other way to take the place of none. */
async function claimed(output: string, write: () => Promise<void>): Promise<void> {
  await step(output, async () => await (await open(output, 'wx', 0o600)).close());
  try {
    await write();
  } catch (error) {
    await rm(output, { force: true });
    throw error;
  }
}

async function writeDraft(
  output: string,
  path: string,
  text: Text,
  { mode }: WholeFileOptions,
  former?: Stats,
): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString('hex')}.partial`;
  const formerMode = former && former.mode & 0o777;
  const handle = await step(output, () => open(draft, 'wx', mode ?? formerMode));
  try {
    await writeInto(output, handle, text, async () => {
      // What the user may do by default does not take rights from a file that had them.
      if (mode === undefined && formerMode !== undefined) await handle.chmod(formerMode);
      await handle.sync();
    });
    await step(output, () => rename(draft, path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function writeInto(
  output: string,
  handle: FileHandle,
  text: Text,
  finish: () => Promise<void> = async () => undefined,
): Promise<void> {
  try {
    for await (const piece of text) await step(output, () => handle.writeFile(piece));
    await step(output, finish);
  } finally {
    await handle.close();
  }
}

/** What fails here is about the file, and is told by the name that the user gave; what the text fails with is not. */
async function step<T>(output: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw fileFailure(output, cause as NodeJS.ErrnoException);
  }
}

function fileFailure(output: string, cause: { readonly code?: string | undefined }): CommandFailure {
  const { code = 'unknown' } = cause;
  const message = code === 'ENOENT' ? `The folder ${dirname(output)} is not there.` : fileSentence(output, code);
  const remedy = code === 'EEXIST' ? { remedy: 'Name another file.' } : {};
  return new CommandFailure('FILE_ERROR', message, { exit: exitCode.usage, cause, ...remedy });
}
