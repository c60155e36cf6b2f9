import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { nearest } from './nearest.ts';
import { countOf, formatMoney, writeOut } from './output.ts';
import manifest from './package.json' with { type: 'json' };
import { fitLine } from './progress.ts';
import { holdfast } from './testing.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-usage-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a typing mistake is answered with the error and a suggestion, not with the whole help', async () => {
  expect(await holdfast('bakup')).toMatchObject({
    code: 2,
    out: '',
    error: "error: unknown command 'bakup'\n(Did you mean backup?)\nSee `holdfast --help`.\n",
  });
  expect((await holdfast('backup', 'list', '--limti', '3')).error).toBe(
    "error: unknown option '--limti'\n(Did you mean --limit?)\nSee `holdfast backup list --help`.\n",
  );
  const { json } = await holdfast('bakup', '--json');
  expect(json).toEqual({
    error: { code: 'VALIDATION_ERROR', message: "unknown command 'bakup'", remedy: 'Did you mean backup?' },
  });
});

test('a command without its group is answered with the groups that have it', async () => {
  const meant = 'Did you mean `holdfast backup verify` or `holdfast audit verify` or `holdfast local verify`?';
  for (const word of ['verify', 'verfy'])
    expect(await holdfast(word)).toMatchObject({
      code: 2,
      out: '',
      error: `error: unknown command '${word}'\n(${meant})\nSee \`holdfast --help\`.\n`,
    });
  expect((await holdfast('verify', 'bkp_1', '--json')).json.error).toMatchObject({ remedy: meant });
  expect((await holdfast('zebra')).error).toBe("error: unknown command 'zebra'\nSee `holdfast --help`.\n");
});

test('an output that cannot be written is reported in one sentence', async ({ skip }) => {
  if (process.platform !== 'linux') skip('there is no full device here');
  const main = join(import.meta.dirname, 'main.ts');
  const shell = promisify(execFile)('sh', ['-c', `"${process.execPath}" "${main}" --help > /dev/full`]);
  const { code, stderr } = await shell.then(
    () => ({ code: 0, stderr: '' }),
    (failure: { code: number; stderr: string }) => failure,
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The output could not be written: ENOSPC[^\n]*\n$/);
});

test('a slow reader of the output leaves no listener behind for each piece it waited for', async () => {
  const slow = new Writable({ highWaterMark: 1, write: (_piece, _encoding, done) => setImmediate(done) });
  const before = slow.listenerCount('error');
  for (let piece = 0; piece < 20; piece++) await writeOut(slow, 'text');
  expect([slow.listenerCount('error'), slow.listenerCount('drain')]).toEqual([before, 0]);
});

test.each([
  [['backup', 'show', ''], "argument 'backup' is empty"],
  [['backup', ''], "argument 'project' is empty"],
  [['project', 'show', ''], "argument 'project' is empty"],
  [['restore', 'show', ''], "argument 'restore' is empty"],
  [['status', ''], "argument 'id' is empty"],
  [['recovery-kit', ''], "argument 'file' is empty"],
  [['local', 'keygen', ''], "argument 'file' is empty"],
  [['local', 'verify', '', '--store', '.'], "argument 'backup' is empty"],
  [['backup', 'get', 'latest:Shop', ''], 'It must be the path of a document, such as users/ada.'],
  [['backup', 'get', 'latest:Shop', 'users/ada/'], 'It must be the path of a document, such as users/ada.'],
  [['backup', 'get', 'latest:Shop', 'users//ada'], 'It must be the path of a document, such as users/ada.'],
  [['backup', 'get', 'latest:Shop', 'users/..'], 'It must be the path of a document, such as users/ada.'],
  [['pitr', 'get', 'Shop', '/users/ada', '--at', 'an hour ago'], 'It must be the path of a document'],
  [['pitr', 'history', 'Shop', 'users/ada/'], 'It must be the path of a document'],
  [['backup', 'browse', 'latest:Shop', 'users/'], 'It must be the path of a collection'],
  [['pitr', 'browse', 'Shop', 'users//', '--at', 'an hour ago'], 'It must be the path of a collection'],
  [['backup', 'export', 'latest:Shop', '-c', 'users/'], 'It must be the path of a collection'],
  [['local', 'browse', 'latest', 'users/ada/', '--store', '.'], 'It must be the path of a collection or a document'],
  [['local', 'export', 'latest', '-c', 'users', 'users//', '--store', '.'], 'It must be the path of a collection'],
  [['local', 'restore', 'latest', '--documents', 'users/ada/', '--store', '.'], 'It must be the path of a document'],
  [['restore', 'latest:Shop', '--below'], '--below belongs to --documents'],
  [['pitr', 'restore', 'Shop', '--at', 'an hour ago', '--below'], '--below belongs to --documents'],
  [['backup', 'show', '..'], '".." cannot be part of a path.'],
  [['restore', 'show', '.'], '"." cannot be part of a path.'],
])('%j is wrong usage, reported in one sentence', async (words, sentence) => {
  vi.stubEnv('HOLDFAST_URL', 'http://127.0.0.1:1');
  vi.stubEnv('HOLDFAST_API_KEY', 'fb_sa_none');
  vi.stubEnv('HOLDFAST_KEY', 'ab'.repeat(32));
  try {
    const result = await holdfast(...words);
    expect([result.code, result.out], result.error).toEqual([2, '']);
    expect(result.error).toContain(sentence);
    expect(result.error).not.toMatch(/^ +at /m);
    expect((await holdfast(...words, '--json')).code).toBe(2);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('similar words are suggested, and others are not', () => {
  expect(nearest('lst', ['list', 'show'])).toBe('list');
  expect(nearest('Shpo', ['Shop', 'Ship'])).toBe('Shop');
  expect(nearest('zebra', ['list', 'show'])).toBeUndefined();
  expect(nearest('', ['list'])).toBeUndefined();
});

test('one is shown in the singular, and a little money is more than none', () => {
  expect([countOf(0, 'document'), countOf(1, 'document'), countOf(1234, 'document')]).toEqual([
    '0 documents',
    '1 document',
    '1,234 documents',
  ]);
  expect([formatMoney(0, 'USD'), formatMoney(0.0006, 'USD'), formatMoney(12.5, 'USD')]).toEqual([
    '0.00 USD',
    '0.0006 USD',
    '12.50 USD',
  ]);
});

test('--version is the version of the package', async () => {
  expect(await holdfast('--version')).toMatchObject({ code: 0, out: `${manifest.version}\n` });
});

test('a bar fits the width of the terminal: it shrinks, then the last parts are dropped, then the label is cut', () => {
  const line = (width: number) => fitLine(width, 'bkp_0123456789', 0.5, ['reading', '12 s left', '1,234 documents']);
  expect(line(100)).toBe('bkp_0123456789  ████████████░░░░░░░░░░░░  50 %  reading  12 s left  1,234 documents');
  for (let width = 1; width <= 100; width++) expect(line(width).length, String(width)).toBeLessThanOrEqual(width);
  expect(line(60)).toMatch(/^bkp_0123456789 {2}█+░+ {2}50 % {2}reading/);
  expect(line(24)).toContain('50 %');
});

describe('completion', () => {
  const has = (shell: string) => {
    try {
      return Boolean(execFileSync(shell, ['--version']));
    } catch {
      return false;
    }
  };

  async function complete(shell: string, harness: string): Promise<string[]> {
    const script = join(folder, `completion.${shell}`);
    const { code, out } = await holdfast('completion', shell);
    expect(code).toBe(0);
    await writeFile(script, out);
    const result = await new Promise<string>((resolve, reject) =>
      execFile(
        shell,
        ['-c', harness],
        { env: { PATH: process.env.PATH, SCRIPT: script, HOME: folder } },
        (error, text, complaint) =>
          error || complaint ? reject(new Error(`${error?.message} ${complaint}`)) : resolve(text),
      ),
    );
    return result.trimEnd().split('\n');
  }

  test('in bash knows commands, options and their values, below groups and for the usual command of a group', async () => {
    const words = await complete(
      'bash',
      `source "$SCRIPT"; try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _holdfast; echo "\${COMPREPLY[*]}"; }
       try holdfast ba; try holdfast backup l; try holdfast backup --type ""; try holdfast backup list --sta
       try holdfast member role ada@example.com o; try holdfast local ke; try holdfast backup export x -o ""`,
    );
    expect(words).toEqual(['backup', 'list', 'full incremental synthetic', '--status', 'owner', 'keygen']);
  });

  test('in zsh describes each command', async ({ skip }) => {
    if (!has('zsh')) skip('not installed here');
    const words = await complete(
      'zsh',
      `compdef() { : }; source $SCRIPT; _describe() { print -l -- \${(P)2} }; _files() { print files }
       try() { words=("$@"); CURRENT=$#; _holdfast }
       try holdfast member "" | head -1; try holdfast backup --type "" | head -1; try holdfast backup export x -o ""`,
    );
    expect(words).toEqual(['list:list the people and their roles', 'full:', 'files']);
  });

  test('in fish completes as the shell itself does', async ({ skip }) => {
    if (!has('fish')) skip('not installed here');
    const words = await complete(
      'fish',
      `source $SCRIPT; complete -C "holdfast encry"; complete -C "holdfast backup --type f"; complete -C "holdfast member rol"`,
    );
    expect(words.map((line) => line.split('\t')[0])).toEqual(['encryption-key', 'full', 'role']);
  });
});
