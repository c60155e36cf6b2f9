import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig } from './config.ts';
import { JobProcess } from './job-process.ts';
import { createLogger } from './platform/log.ts';

let folder: string;
let lines: { msg: string; againInMs?: number; err?: { code: string } }[];
let jobs: JobProcess;
const config = loadConfig({});
const noSample = () => Promise.reject(new Error('no room for it'));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-jobs-'));
  lines = [];
});
afterEach(async () => {
  await jobs.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A stand-in for the program of the jobs; `note` writes what it has seen. */
async function begin(source: string): Promise<void> {
  const program = join(folder, 'jobs.mjs');
  const note = `import { writeFileSync } from 'node:fs';\nconst note = (text) => writeFileSync('${folder}/noted', text);\n`;
  await writeFile(program, `${note}${source}\nprocess.once('disconnect', () => process.exit(1));`);
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  jobs = new JobProcess({ log, graceMs: 50, closingMs: 50, pauseMs: 20, program });
  jobs.start(config, noSample);
}

const noted = () => readFile(join(folder, 'noted'), 'utf8').catch(() => '');

test('a process of the jobs that cannot start is tried ever more rarely', async () => {
  await begin('process.exit(1);');
  await expect.poll(() => lines.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(3);
  expect(lines.slice(0, 3).map(({ againInMs }) => againInMs)).toEqual([20, 40, 80]);
});

test('a process of the jobs that the system refuses is tried again, and does not hold up the end', async () => {
  const { execPath } = process;
  process.execPath = join(folder, 'gone');
  try {
    await begin(`process.on('message', ({ kind }) => (kind === 'stop' ? process.exit(0) : note(kind)));`);
    await expect.poll(() => lines[0]).toMatchObject({ err: { code: 'ENOENT' }, againInMs: 20 });
  } finally {
    process.execPath = execPath;
  }
  await expect.poll(noted, { timeout: 5000 }).toBe('begin');
  await jobs.stop();
});

test('a process of the jobs that does not hear is killed, so that the database still stops after it', async () => {
  await begin(`process.on('message', ({ kind }) => note(kind));`);
  await expect.poll(noted, { timeout: 5000 }).toBe('begin');
  await jobs.stop();
  expect(lines.at(-1)?.msg).toBe('the process of the jobs did not end in time and is killed');
});

test('a sample database that does not open fails the job and not the service', async () => {
  await begin(`
    process.on('message', ({ kind, reason }) => {
      if (kind === 'begin') process.send({ kind: 'open sample', request: 1, named: {} });
      else if (kind === 'stop') process.exit(0);
      else note(kind + ', ' + reason);
    });`);
  await expect.poll(noted, { timeout: 5000 }).toBe('sample not opened, Error: no room for it');
});

test('a limit of memory holds for the jobs too, and a port for debugging does not', async () => {
  const options = vi.spyOn(process, 'execArgv', 'get').mockReturnValue(['--max-old-space-size=777', '--inspect=0']);
  try {
    await begin(
      `process.on('message', ({ kind }) => (kind === 'stop' ? process.exit(0) : note(process.execArgv.join())));`,
    );
    await expect.poll(noted, { timeout: 5000 }).toBe('--v8-pool-size=1,--max-old-space-size=777');
  } finally {
    options.mockRestore();
  }
});
