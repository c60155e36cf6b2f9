import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { loadSample } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { type ProtectedProject, protectProject } from '../server/testing/protected-project.ts';
import { startTestApp, type TestApp } from '../server/testing/test-app.ts';
import { createProgram } from './program.ts';
import { runCommand } from './run-command.ts';

export const documents = 300;
const database = { project: 'shop', database: '(default)' };

export let app: TestApp;
export let shop: ProtectedProject;
export let firestore: Firestore;
export let folder: string;
export let apiKey: string;

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
  readonly json: any;
}

/** A service with a project for the command lines of one test file, signed in as the project's owner. */
export function useService(environment: Record<string, string> = {}): void {
  beforeAll(async () => {
    app = await startTestApp(environment);
    shop = await protectProject(app);
    folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
    loadSample(shop.firestore.control.database(database), { documents, seed: 7 });
    process.env.FIRESTORE_EMULATOR_HOST = shop.firestore.address;
    firestore = new Firestore({ projectId: 'shop' });
    const account = await app.request('POST', '/api/v1/organizations/current/service-account', {
      token: shop.owner.token,
      organizationId: shop.organizationId,
      body: { name: 'Pipeline', permissions: ['backups:write', 'projects:read', 'organization:read'] },
    });
    apiKey = account.body.data.apiKey;
  });
  afterAll(async () => {
    await firestore.terminate();
    vi.unstubAllEnvs();
    delete process.env.FIRESTORE_EMULATOR_HOST;
    await app.close();
    await shop.close();
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    vi.stubEnv('HOLDFAST_CONFIG', join(folder, 'config', 'config.json'));
    vi.stubEnv('HOLDFAST_URL', app.address);
    vi.stubEnv('HOLDFAST_TOKEN', shop.owner.token);
    vi.stubEnv('HOLDFAST_API_KEY', '');
    vi.stubEnv('HOLDFAST_ORGANIZATION', shop.organizationId);
  });
  afterEach(() => vi.unstubAllEnvs());
}

/** Runs a command line in this process and captures its output. */
export async function holdfast(...words: string[]): Promise<Outcome> {
  const [out, error] = [capture(process.stdout), capture(process.stderr)];
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    const argv = ['node', 'holdfast', ...words];
    await runCommand(await createProgram(argv), argv);
    return outcome(Number(process.exitCode), out.text(), error.text());
  } finally {
    process.exitCode = before;
    out.end();
    error.end();
  }
}

function capture(stream: NodeJS.WriteStream) {
  const pieces: string[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((piece) => {
    pieces.push(String(piece));
    return true;
  });
  return { text: () => pieces.join(''), end: () => spy.mockRestore() };
}

function outcome(code: number, out: string, error: string): Outcome {
  return { code, out, error, json: parse(out) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const main = new URL('./main.ts', import.meta.url).pathname;

/** Runs a command line as people do, in a separate process. */
export async function holdfastProcess(words: string[], input = ''): Promise<Outcome> {
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...words], { env: process.env }, (error, out, errorText) =>
      resolve(outcome(error === null ? 0 : Number(error.code), out, errorText)),
    );
    child.stdin?.end(input);
  });
}

export async function backUp(...words: string[]): Promise<string> {
  const { code, json, error } = await holdfast('backup', 'Shop', '--wait', '--json', ...words);
  expect(code, error).toBe(0);
  return json.id;
}
