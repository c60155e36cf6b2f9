import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CommandFailure } from './command-failure.ts';
import { exitCode } from './exit-codes.ts';
import { fileSentence } from './file-sentence.ts';

type Text = AsyncIterable<string> | Iterable<string>;

interface WholeFileOptions {
  /** Never replaces another file. The name is claimed before the first piece of the text is requested. */
  readonly isNew?: boolean;
  /** The permissions; without them those of the former file, or the usual ones. */
  readonly mode?: number;
}

/**
 * Writes a file as a whole or not at all. The file gets its name when the last byte is on the disk, so a failure leaves
 * only the former file. Two writers of one file use separate drafts, and the last one wins. A link is followed.
 * Anything but a regular file, such as a pipe or a device, is written directly; then the result is false.
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

/** An empty file reserves the name. Hard links, the other way to replace no file, do not exist on every disk. */
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
      // The default permissions must not change those of an existing file.
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

/** An error here is about the file and names it as the user did; errors of the text itself are passed on. */
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
