import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';

const root = join(import.meta.dirname, '../../../..');

/**
 * A folder as `git clone` and `npm install` leave it, with nothing else in it; programs that run there are stopped at
 * the end.
 */
export class Checkout {
  readonly folder: string;
  readonly #running = new Set<ChildProcess>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<Checkout> {
    const folder = join(await mkdtemp(join(tmpdir(), 'holdfast-trial-')), 'holdfast');
    await mkdir(folder);
    for (const name of ['packages', 'node_modules', 'package.json', 'docs', 'scripts'])
      await symlink(join(root, name), join(folder, name));
    return new Checkout(folder);
  }

  /** Runs to its end. */
  async run(line: string, env: Record<string, string> = {}): Promise<string> {
    const { child, said } = this.#spawn(line, env);
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code, `${line}\n${said()}`).toBe(0);
    return said();
  }

  /** Keeps running, as in its own terminal; returns its output so far. */
  async keep(line: string, ready: RegExp, env: Record<string, string> = {}): Promise<() => string> {
    const { child, said } = this.#spawn(line, env);
    this.#running.add(child);
    await expect
      .poll(() => (child.exitCode === null ? said() : `ended ${said()}`), { timeout: 90_000, message: line })
      .toMatch(ready);
    return said;
  }

  async close(): Promise<void> {
    for (const child of this.#running) {
      this.#running.delete(child);
      if (child.exitCode !== null || child.signalCode !== null) continue;
      process.kill(-(child.pid as number), 'SIGTERM');
      await once(child, 'close');
    }
    await rm(dirname(this.folder), { recursive: true, force: true });
  }

  #spawn(line: string, env: Record<string, string>) {
    const { NODE_COMPILE_CACHE = '' } = process.env;
    const child = spawn('bash', ['-c', line], {
      cwd: this.folder,
      env: { PATH: readersPath(), HOME: this.folder, NODE_COMPILE_CACHE, ...env },
      detached: true,
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece) => {
        text += String(piece);
      });
    return { child, said: () => text };
  }
}

/** The machine's Node instead of the installed one, which the process that runs this test may have put first. */
function readersPath(): string {
  const places = (process.env.PATH ?? '').split(delimiter);
  return places.filter((place) => !place.includes('node_modules')).join(delimiter);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
