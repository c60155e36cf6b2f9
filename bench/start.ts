import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@holdfast/server/platform/free-port';
import { type Bench, figure, median } from './figure.ts';

const rounds = 3;
const pollMs = 10;
const program = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** How long a person waits: for a service that has never run here, for one that has, and for the demo's whole story. */
export const startBench: Bench = {
  name: 'start',
  about:
    'Seconds until a service answers that it is healthy, in an empty folder and in its own, and until the demo has told its story.',
  async run() {
    const [first, again, told] = [[] as number[], [] as number[], [] as number[]];
    for (let round = 0; round < rounds; round++) {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-start-'));
      try {
        first.push(await secondsToHealthy(join(folder, 'data')));
        again.push(await secondsToHealthy(join(folder, 'data')));
        told.push(await secondsToTell(join(folder, 'demo')));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    return [
      figure('first start to healthy', 'seconds', median(first), 3, 'lower', {}),
      figure('later start to healthy', 'seconds', median(again), 3, 'lower', {}),
      figure('demo told', 'seconds', median(told), 10, 'lower', {}),
    ];
  },
};

/** The embedded database is made on the way, when the folder is empty. */
async function secondsToHealthy(folder: string): Promise<number> {
  const port = await freePort();
  const startedMs = performance.now();
  const child = start('packages/server/main.ts', [], { PORT: String(port), HOLDFAST_DATA: folder });
  try {
    while (!(await isHealthy(port))) await new Promise((resolve) => setTimeout(resolve, pollMs));
    return (performance.now() - startedMs) / 1000;
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}

async function isHealthy(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}

async function secondsToTell(folder: string): Promise<number> {
  const startedMs = performance.now();
  const [code] = await once(start('scripts/demo.ts', ['--once'], { HOLDFAST_DATA: folder }), 'exit');
  if (code !== 0) throw new Error('the demo did not hold');
  return (performance.now() - startedMs) / 1000;
}

function start(path: string, args: readonly string[], environment: Record<string, string>) {
  const env = { ...process.env, LOG_LEVEL: 'error', ...environment };
  return spawn(process.execPath, [program(path), ...args], { env, stdio: 'ignore' });
}
