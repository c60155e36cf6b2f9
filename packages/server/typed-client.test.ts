// @module-tag long
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from './testing/backup-bench.ts';
import { copyContract } from './testing/contract-copy.ts';

/** Uses the package as a stranger does: packed, installed into an empty project, compiled with plain `tsc`, run. */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const contract = join(root, 'packages/contract');
const patience = 180_000;

let folder: string;
let project: string;
let bench: BackupBench;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-package-'));
  project = join(folder, 'project');
  await mkdir(project);
  bench = await startBackupBench();
  await bench.firestore.doc('users/ada').set({ name: 'Ada' });
  const packages = [await packContract(), await pack(join(root, 'node_modules/zod'))];
  await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }');
  await npm(project, 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', ...packages);
}, patience);
afterAll(async () => {
  await bench.close();
  await rm(folder, { recursive: true, force: true });
});

const npm = (cwd: string, ...args: string[]) => run('npm', args, { cwd, maxBuffer: 16 * 1024 * 1024 });

async function packContract(): Promise<string> {
  const house = join(folder, 'house');
  await copyContract(house);
  const tarball = await pack(join(house, 'packages/contract'));
  const manifest = (where: string) => readFile(join(where, 'package.json'), 'utf8');
  expect(await manifest(join(house, 'packages/contract'))).toBe(await manifest(contract));
  return tarball;
}

async function pack(cwd: string): Promise<string> {
  const { stdout } = await npm(cwd, 'pack', '--json', '--pack-destination', folder);
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [{ filename: string }];
  return join(folder, packed.filename.replace('@', '').replace('/', '-'));
}

/** The program in the README, with this service's address and key instead of its examples. */
async function readmeProgram(): Promise<string> {
  const key = { name: 'reader', permissions: ['backups:write', 'projects:write'] };
  const account = await bench.app.request('POST', '/api/v1/organizations/current/service-account', {
    ...bench.as,
    body: key,
  });
  const blocks = [...(await readFile(join(contract, 'README.md'), 'utf8')).matchAll(/```ts\n(.*?)```/gs)];
  expect(blocks.length).toBeGreaterThan(5);
  return blocks
    .map((block) => block[1])
    .join('\n')
    .replace('http://localhost:8787', bench.app.address)
    .replace('fb_sa_…', account.body.data.apiKey);
}

/** This Node, and every other one that is installed on the machine. */
async function nodes(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]]);
  for (const place of (process.env.PATH ?? '').split(delimiter)) {
    const binary = join(place, 'node');
    const answer = await run(binary, ['--version']).catch(() => undefined);
    if (answer) found.set(answer.stdout.trim(), binary);
  }
  return found;
}

describe('the packed contract in an empty project', () => {
  test('the examples of the README compile with plain tsc, library types checked, and run against a service', async () => {
    await writeFile(join(project, 'example.ts'), await readmeProgram());
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom,dom.iterable'];
    const typeErrors = await run(process.execPath, [tsc, ...options, '--types', '', 'example.ts'], { cwd: project })
      .then(() => '')
      .catch((failure: { stdout: string }) => failure.stdout);
    expect(typeErrors).toBe('');
    for (const [version, binary] of await nodes()) {
      const { stdout } = await run(binary, ['example.js'], { cwd: project });
      expect(stdout, version).toMatch(/^1 documents, about 0/);
      expect(stdout, version).toContain('completed 100 %');
      expect(stdout, version).toContain('replace: 1');
      expect(stdout, version).toContain('404 BACKUP_NOT_FOUND req_');
    }
  });

  test('contains built files and no sources', async () => {
    const { stdout } = await run('tar', ['tzf', join(folder, 'holdfast-contract-2.0.0.tgz')]);
    const files = stdout.trim().split('\n');
    expect(files).toContain('package/dist/client.js');
    expect(files).toContain('package/dist/client.d.ts');
    expect(files.filter((file) => /(?<!\.d)\.ts$|test|tsconfig/.test(file))).toEqual([]);
  });
});
