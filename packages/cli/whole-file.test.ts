import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeWholeFile } from './whole-file.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-whole-'));
  file = join(folder, 'out.ndjson');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Two lines, with an action between them. */
async function* lines(word: string, between: () => unknown = () => undefined): AsyncGenerator<string> {
  yield `${word} 1\n`;
  await between();
  yield `${word} 2\n`;
}

const failing = () => Promise.reject(new Error('broken on the way'));

test('while a file is written the former one is there, and after a failure it still is, with nothing beside it', async () => {
  await writeFile(file, 'good');
  const seen: string[] = [];
  await writeWholeFile(
    file,
    lines('new', async () => seen.push(await readFile(file, 'utf8'))),
  );
  expect([seen, await readFile(file, 'utf8')]).toEqual([['good'], 'new 1\nnew 2\n']);
  await expect(writeWholeFile(file, lines('half', failing))).rejects.toThrow('broken on the way');
  expect([await readdir(folder), await readFile(file, 'utf8')]).toEqual([['out.ndjson'], 'new 1\nnew 2\n']);
});

test('of two that write the same file at once the last one wins, with a whole file', async () => {
  const other = () => writeWholeFile(file, lines('second'));
  await writeWholeFile(file, lines('first', other));
  expect([await readdir(folder), await readFile(file, 'utf8')]).toEqual([['out.ndjson'], 'first 1\nfirst 2\n']);
  await expect(
    writeWholeFile(
      file,
      lines('third', async () => {
        await other();
        await failing();
      }),
    ),
  ).rejects.toThrow();
  expect([await readdir(folder), await readFile(file, 'utf8')]).toEqual([['out.ndjson'], 'second 1\nsecond 2\n']);
});

test('a file that only its owner may read keeps its permissions', async () => {
  await writeFile(file, 'good');
  await chmod(file, 0o600);
  await writeWholeFile(file, lines('new'));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await chmod(file, 0o644);
  await writeWholeFile(file, ['secret'], { mode: 0o600 });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('a new file replaces no other file, and a failure leaves none', async () => {
  await expect(writeWholeFile(file, lines('kit', failing), { isNew: true })).rejects.toThrow();
  expect(await readdir(folder)).toEqual([]);
  await writeWholeFile(file, lines('kit'), { isNew: true });
  let isAsked = false;
  const second = lines('other', () => {
    isAsked = true;
  });
  await expect(writeWholeFile(file, second, { isNew: true })).rejects.toThrow(
    `The file ${file} is there already; it is never written over.`,
  );
  expect([isAsked, await readdir(folder), await readFile(file, 'utf8')]).toEqual([
    false,
    ['out.ndjson'],
    'kit 1\nkit 2\n',
  ]);
});

test('a file that cannot be written is reported by the name that was given', async ({ skip }) => {
  const failureOf = async (path: string, options = {}) =>
    await writeWholeFile(path, ['text'], options).then(
      () => undefined,
      ({ code, exit, message }) => [code, exit, message],
    );
  const missing = join(folder, 'nowhere');
  for (const options of [{}, { isNew: true }])
    expect(await failureOf(join(missing, 'x'), options)).toEqual([
      'FILE_ERROR',
      2,
      `The folder ${missing} is not there.`,
    ]);
  await mkdir(join(folder, 'inner'));
  expect(await failureOf(join(folder, 'inner'))).toEqual(['FILE_ERROR', 2, `The file ${folder}/inner is a folder.`]);
  expect(await failureOf(`${folder}/new/`)).toEqual(['FILE_ERROR', 2, `The file ${folder}/new/ is a folder.`]);
  expect(await failureOf('')).toEqual(['FILE_ERROR', 2, 'The name of the file is empty.']);
  expect(await readdir(folder)).toEqual(['inner']);
  if (process.platform !== 'linux') skip('there is no full device here');
  expect(await failureOf('/dev/full')).toEqual(['FILE_ERROR', 2, 'The file /dev/full does not fit: the disk is full.']);
});
