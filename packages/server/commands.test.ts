import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';

/** Runs every script of package.json that is a program of ours, as people call it. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
/** npm's own; one that takes no options; one that has tests of its own; and two that are the same as `start`. */
const others = ['postinstall', 'openapi', 'holdfast', 'dev', 'config'];
const names = Object.keys(scripts).filter(
  (name) => /^(exec )?node .*\.ts/.test(scripts[name]!) && !others.includes(name),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-commands-'));
});
afterAll(() => rm(folder, { recursive: true }));

function run(name: string, ...args: string[]): Promise<{ status: unknown; output: string; errors: string }> {
  const command = scripts[name]!.replace(/^(exec )?node /, '').split(' ');
  const options = { cwd: root, env: { ...process.env, HOLDFAST_DATA: folder, PORT: '0' }, timeout: 60_000 };
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, ...args], options, (error, output, errors) =>
      resolve({ status: error === null ? 0 : error.code, output, errors }),
    );
  });
}

test('there are some', () => expect(names.length).toBeGreaterThanOrEqual(10));

describe.each(names)('npm run %s', { tags: 'long' }, (name) => {
  test('answers --help in a few lines, and does nothing else', { tags: 'long' }, async () => {
    const { status, output, errors } = await run(name, '--help');
    expect([status, errors]).toEqual([0, '']);
    expect(output).toMatch(/^npm (start|test|run [a-z-]+) --.* \[options\]\n\n/);
    expect(output).toMatch(/\n {2}--help +show this, and end\n$/);
    expect(output.split('\n').length).toBeLessThan(25);
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses an unknown option in one line, and does nothing else', {
    tags: 'long',
  }, async () => {
    expect(await run(name, '--no-such-option')).toEqual({
      status: 2,
      output: '',
      errors: "Unknown option '--no-such-option'. The option --help lists what there is.\n",
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

test.each(['rotate-master-key', 'rotate-signing-key'])(
  'npm run %s without an installation says so, and makes none',
  async (name) => {
    // The test runner sets one itself.
    vi.stubEnv('BASE_URL', '');
    const nowhere = await run(name);
    expect(nowhere).toMatchObject({ status: 1, output: '' });
    expect(nowhere.errors).toMatch(
      /^DATABASE_URL is not set, and the data folder \S+ holds no database: .* --env-file FILE/,
    );
    expect(await readdir(folder)).toEqual([]);
    const empty = Object.assign(new URL(inject('templateUrl')), { pathname: '/postgres' });
    vi.stubEnv('DATABASE_URL', empty.href);
    const elsewhere = await run(name).finally(() => vi.unstubAllEnvs());
    expect(elsewhere).toMatchObject({ status: 1, output: '' });
    expect(elsewhere.errors).toMatch(/^The database postgres at \S+ holds no Holdfast\. .* --env-file FILE/);
    expect(await readdir(folder)).toEqual([]);
  },
);

test('an invalid number is reported', async () => {
  for (const [name, option] of [
    ['chaos', 'runs'],
    ['fuzz', 'cases'],
  ] as const)
    expect(await run(name, `--${option}`, 'many')).toMatchObject({
      status: 2,
      errors: `--${option} takes a whole number, not "many". The option --help lists what there is.\n`,
    });
});

test('the command that runs on every change is understood', async () => {
  const line = /npm test -- (.+)/.exec(await readFile(join(root, '.ci/run'), 'utf8'));
  expect(await run('test', ...line![1]!.split(' '), '--help')).toMatchObject({ status: 0, errors: '' });
});
