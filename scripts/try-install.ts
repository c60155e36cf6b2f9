import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommand } from '@holdfast/server/platform/command-options';
import { startEmbeddedPostgres } from '@holdfast/server/platform/database/embedded-postgres';
import { createLogger } from '@holdfast/server/platform/log';

/**
 * `npm run try-install`: what a stranger does, in an empty folder. `npm install --omit=dev`, `npm start`, and the service is healthy, shows
 * its dashboard and is no larger than promised. Then the steps of the Dockerfile in a plain folder: the same trimmed for the image, as an
 * unprivileged user on files it cannot write, refused without DATABASE_URL and healthy with it.
 */
readCommand({
  usage: 'npm run try-install --',
  about:
    'Installs as a stranger does, into an empty folder, starts that, and walks through the steps of the Dockerfile. Takes minutes.',
  options: {},
});
const megabytesMax = 450;
const imageMegabytesMax = 150;
const imageUser = 65_532;
const root = fileURLToPath(new URL('..', import.meta.url));
const parent = mkdtempSync(join(tmpdir(), 'holdfast-install-'));
chmodSync(parent, 0o755);
const folder = join(parent, 'app');
const running: ChildProcess[] = [];

function copySources(): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const path of files.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
}

function megabytesOf(path: string): number {
  return Number(execFileSync('du', ['-sm', path]).toString().split('\t')[0]);
}

function require(isTrue: boolean, promise: string): void {
  if (!isTrue) throw new Error(`This does not hold: ${promise}`);
  console.log(`✔ ${promise}`);
}

interface Started {
  said: () => string;
  stop: () => Promise<number | null>;
}

/** Starts it, and waits until it says that it runs or ends. */
async function start(command: string, args: string[], env: Record<string, string>, uid?: number): Promise<Started> {
  const { PATH = '' } = process.env;
  const user = uid !== undefined && process.getuid?.() === 0 ? { uid, gid: uid } : {};
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH, PORT: '0', HOME: parent, ...env },
    ...user,
    detached: true,
  });
  running.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => (text += String(piece)));
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const deadlineMs = performance.now() + 180_000;
  while (!/Holdfast is running at/.test(text) && child.exitCode === null && performance.now() < deadlineMs)
    await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    said: () => text,
    stop: async () => {
      if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM');
      return closed;
    },
  };
}

async function requireHealthy({ said }: Started, what: string): Promise<void> {
  const address = /Holdfast is running at (\S+)/.exec(said())?.[1];
  if (!address) throw new Error(`${what} did not start:\n${said()}`);
  const health = (await (await fetch(`${address}/health`)).json()) as { status: string };
  require(health.status === 'healthy', `${what} is healthy`);
  const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text();
  require(page.includes('<script type="module"'), `${what} shows its dashboard`);
}

/** As a stranger. */
async function tryInstall(): Promise<void> {
  execFileSync('npm', ['install', '--omit=dev'], { cwd: folder, stdio: 'inherit' });
  const size = megabytesOf(folder);
  require(size <= megabytesMax, `it takes ${size} MB, and no more than ${megabytesMax}`);
  const service = await start('npm', ['start'], { HOLDFAST_DATA: join(parent, 'data') });
  await requireHealthy(service, '`npm install --omit=dev && npm start`');
  await service.stop();
}

/** As the image: its own steps, its user, its arguments. */
async function tryImage(): Promise<void> {
  const database = await startEmbeddedPostgres({
    folder: join(parent, 'database'),
    log: createLogger('silent'),
    unsafeFast: true,
  });
  try {
    execFileSync(process.execPath, ['scripts/trim-install.ts', '--image'], { cwd: folder, stdio: 'inherit' });
    const size = megabytesOf(join(folder, 'node_modules')) + megabytesOf(join(folder, 'packages'));
    require(size <=
      imageMegabytesMax, `what the image adds to Node takes ${size} MB, and no more than ${imageMegabytesMax}`);
    const node = join(parent, 'node');
    cpSync(process.execPath, node);
    const data = join(parent, 'image-data');
    mkdirSync(data);
    if (process.getuid?.() === 0) chownSync(data, imageUser, imageUser);
    execFileSync('chmod', ['-R', 'a-w,a+rX', folder]);
    const env = { HOLDFAST_DATA: data, NODE_ENV: 'production', MASTER_KEY: randomBytes(32).toString('base64') };
    const args = ['packages/server/main.ts', '--require-database'];
    const refused = await start(node, args, env, imageUser);
    require((await refused.stop()) === 1 &&
      refused.said().includes('DATABASE_URL: is needed'), 'without DATABASE_URL it says so and ends with 1');
    const service = await start(node, args, { ...env, DATABASE_URL: database.url }, imageUser);
    await requireHealthy(service, 'the image as an unprivileged user on files it cannot write');
    require((await service.stop()) === 0, 'it ends with 0 when it is asked to');
  } finally {
    await database.stop();
  }
}

try {
  copySources();
  await tryInstall();
  await tryImage();
} finally {
  for (const child of running)
    if (child.exitCode === null && child.signalCode === null && child.pid) process.kill(-child.pid, 'SIGKILL');
  execFileSync('chmod', ['-R', 'u+w', parent]);
  rmSync(parent, { recursive: true, force: true });
}
