import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fences, shellBlock } from '../../server/testing/documentation.ts';
import { blocksNotRun } from './testing/who-runs.ts';

/**
 * Commands that need somebody else's account or machine. The programs themselves check them, where they are installed.
 */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-vendors-'));
  await writeFile(join(folder, 'policy.json'), '{}');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Said {
  readonly code: number;
  readonly text: string;
}

/** In a separate home folder, so that nothing of the reader's machine is used or changed. */
function run(line: string): Promise<Said> {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    AWS_ACCESS_KEY_ID: 'nobody',
    AWS_SECRET_ACCESS_KEY: 'nothing',
    AWS_DEFAULT_REGION: 'eu-central-1',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_MAX_ATTEMPTS: '1',
    CLOUDSDK_CONFIG: folder,
    PAGER: 'cat',
  };
  return new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 }, (failure, out, error) =>
      resolve({ code: failure === null ? 0 : Number(failure.code ?? 1), text: plain(out + error) }),
    );
  });
}

/** Without the control codes for bold text. */
function plain(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[\\d*m`, 'g'), '').replaceAll(/.[\b]/g, '');
}

/** Some programs are slow to print their version, so each is asked once. */
const installed = new Map<string, boolean>();
const isInstalled = (program: string): boolean => {
  const known = installed.get(program) ?? answers(program);
  installed.set(program, known);
  return known;
};

function answers(program: string): boolean {
  try {
    return Boolean(execFileSync('bash', ['-c', `${program} --version`], { stdio: 'pipe' }));
  } catch {
    return false;
  }
}

const optionsIn = (line: string) => [...line.matchAll(/ (--[a-z][\w-]*)/g)].map(([, option]) => option as string);

/** Each checks a command line and ends without doing anything. */
const readers: Readonly<Record<string, (line: string) => Promise<void>>> = {
  aws: async (line) => {
    const { text } = await run(`${line} --endpoint-url http://127.0.0.1:9`);
    expect(text, line).toContain('Could not connect to the endpoint URL');
  },
  gcloud: async (line) => {
    const { code, text } = await run(`${line} --help`);
    expect(code, `${line}\n${text}`).toBe(0);
    const bare = text.replaceAll('--[no-]', '--');
    expect(optionsIn(line).filter((option) => !bare.includes(option))).toEqual([]);
  },
};
const byHelp = async (line: string) => {
  const [program = ''] = line.split(' ');
  const { text } = await run(`${program} --help`);
  expect(optionsIn(line).filter((option) => !text.includes(option))).toEqual([]);
};

const lines = Object.keys(blocksNotRun).flatMap((place) => {
  const [document = '', name = ''] = place.split('#');
  return shellBlock(document, name)
    .text.replaceAll(/\\\n\s*/g, '')
    .trimEnd()
    .split('\n')
    .filter((line) => line !== 'npm start')
    .map((line) => [place, line.replace(/^sudo /, '')] as const);
});

test('systemd accepts the unit of docs/firebase.md', async ({ skip }) => {
  if (!isInstalled('systemd-analyze')) skip('systemd is not installed here');
  const unit = fences('docs/firebase.md').find(({ language }) => language === 'ini');
  await writeFile(join(folder, 'holdfast.service'), `${unit?.lines.join('\n')}\n`);
  const { text } = await run('systemd-analyze verify ./holdfast.service');
  expect(text).not.toMatch(/Unknown|Failed to parse|Invalid/);
});

describe('a command that no test can run', () => {
  test.for(lines)('%s: `%s` is known to its program', { tags: 'long' }, async ([, line], { skip }) => {
    const [program = ''] = line.split(' ');
    if (!isInstalled(program)) skip(`${program} is not installed here`);
    await (readers[program] ?? byHelp)(line);
  });
});
