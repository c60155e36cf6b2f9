import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { holdfast, type Outcome } from '../../testing.ts';

/** What the shell's `holdfast` sends here: commands run in this process, so that a page of them takes seconds. */
interface Asked {
  readonly words: string[];
  readonly input: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

const askScript = (socket: string) => `#!/usr/bin/env node
const { connect } = require('node:net');
const { readFileSync, fstatSync } = require('node:fs');
const piped = fstatSync(0).isFIFO() || fstatSync(0).isFile() || fstatSync(0).isSocket();
const asked = { words: process.argv.slice(2), input: piped ? readFileSync(0, 'utf8') : '', cwd: process.cwd(), env: process.env };
const socket = connect(${JSON.stringify(socket)}, () => socket.end(JSON.stringify(asked)));
let answer = '';
socket.setEncoding('utf8').on('data', (piece) => (answer += piece)).on('end', () => {
  const { code, out, error } = JSON.parse(answer);
  process.stdout.write(out);
  process.stderr.write(error);
  process.exitCode = code;
});
`;

/** A real shell in an empty folder. Its `holdfast` (and `npx holdfast`) is the command line of this process. */
export class DocumentShell {
  readonly folder: string;
  readonly #server: Server;
  /** Every command line that was run, and how it ended. */
  readonly ran: { words: readonly string[]; outcome: Ran }[] = [];

  private constructor(folder: string, server: Server) {
    this.folder = folder;
    this.#server = server;
  }

  static async open(): Promise<DocumentShell> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-page-'));
    const server = createServer({ allowHalfOpen: true });
    const shell = new DocumentShell(folder, server);
    let turn = Promise.resolve();
    server.on('connection', (socket) => {
      turn = turn.then(() => shell.#answer(socket)).catch(() => void socket.destroy());
    });
    const address = join(folder, '.socket');
    await new Promise<void>((resolve) => server.listen(address, resolve));
    await writeFile(join(folder, '.holdfast.cjs'), askScript(address));
    await shell.install('holdfast', `exec "${process.execPath}" "${join(folder, '.holdfast.cjs')}" "$@"`);
    await shell.install('npx', `exec "$@"`);
    return shell;
  }

  /** Installs a stand-in for a program of the reader's machine. */
  async install(name: string, body: string): Promise<void> {
    await writeFile(join(this.folder, name), `#!/bin/sh\n${body}\n`);
    await chmod(join(this.folder, name), 0o755);
  }

  async run(text: string, env: Record<string, string> = {}): Promise<Ran> {
    // The home folder of a process is fixed when it starts, and commands run in this one.
    const HoldfastConfig = join(this.folder, '.config', 'holdfast', 'config.json');
    const environment = {
      PATH: `${this.folder}:${process.env.PATH}`,
      HOME: this.folder,
      HOLDFAST_CONFIG: HoldfastConfig,
      ...env,
    };
    return new Promise((resolve) => {
      const options = { env: environment, cwd: this.folder };
      const child = execFile('bash', ['--norc', '-euo', 'pipefail', '-c', text], options, (failure, out, error) =>
        resolve({ code: failure === null ? 0 : Number(failure.code ?? 1), out, error }),
      );
      child.stdin?.end();
    });
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answer(socket: Socket): Promise<void> {
    const asked = JSON.parse(await text(socket)) as Asked;
    const outcome = await runHere(asked);
    this.ran.push({ words: asked.words, outcome });
    const { code, out, error } = outcome;
    socket.end(JSON.stringify({ code, out, error }));
  }
}

async function runHere({ words, input, cwd, env }: Asked): Promise<Outcome> {
  // Answers yes to every question at the terminal.
  const stdin = Object.assign(new PassThrough(), { isTTY: input === '' });
  stdin.end(input === '' ? 'y\n' : input);
  const spy = vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as never);
  const [before, environment] = [process.cwd(), process.env];
  process.chdir(cwd);
  process.env = { ...env };
  try {
    return await holdfast(...words);
  } finally {
    process.env = environment;
    process.chdir(before);
    spy.mockRestore();
  }
}
