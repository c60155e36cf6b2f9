import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient } from '@holdfast/contract/client';
import { nodeOptions } from '../platform/node-options.ts';

const ownMain = fileURLToPath(new URL('../main.ts', import.meta.url));
const startTimeoutMs = 180_000;

export interface ClusterOptions {
  databaseUrl: string;
  folder: string;
  masterKey: string;
  environment?: Record<string, string>;
}

export type Client = ReturnType<typeof createClient>;

export interface Session {
  token: string;
  organizationId: string;
  client: Client;
}

/** The service as separate processes on one database: an API with the scheduler, and workers that can be killed. */
export class Cluster {
  readonly #options: ClusterOptions;
  readonly #workers = new Set<ChildProcess>();
  readonly #others = new Set<ChildProcess>();
  #api: ChildProcess | undefined;
  address = '';
  signInLink = '';

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  async startApi(roles = 'api,scheduler', environment: Record<string, string> = {}): Promise<void> {
    const ready = /^Sign in: /;
    const { child, lines } = await this.#spawn(roles, ready, ownMain, environment);
    this.#api = child;
    this.signInLink = lines.find((line) => ready.test(line))?.replace('Sign in: ', '') ?? '';
    this.address = new URL(this.signInLink).origin;
  }

  async startWorker(): Promise<ChildProcess> {
    const child = await this.startRole('worker');
    this.#workers.add(child);
    child.once('exit', () => this.#workers.delete(child));
    return child;
  }

  /** A process with these roles, of this version or of the given program; it ends at the latest with the cluster. */
  async startRole(
    role: 'api' | 'scheduler' | 'worker' | 'worker,scheduler',
    main?: string,
    environment: Record<string, string> = {},
  ): Promise<ChildProcess> {
    const { child } = await this.#spawn(role, /^Holdfast is running/, main, environment);
    this.#others.add(child);
    child.once('exit', () => this.#others.delete(child));
    return child;
  }

  /** Kills it without a warning. It may be started again. */
  async killApi(): Promise<void> {
    await end(this.#api);
  }

  /** The process that answers calls. */
  get api(): ChildProcess | undefined {
    return this.#api;
  }

  get workers(): readonly ChildProcess[] {
    return [...this.#workers];
  }

  /** The first owner, in their organization. */
  async signIn(): Promise<Session> {
    const response = await fetch(this.signInLink, { redirect: 'manual' });
    const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
    const token = cookie?.split(';')[0]?.slice('holdfast_access='.length);
    if (!token) throw new Error(`the sign-in link was refused (${response.status})`);
    const person = createClient({ baseUrl: this.address, token });
    const organizationId = (await person.getMe()).organizations[0]?.id;
    if (!organizationId) throw new Error('the first owner has no organization');
    return { token, organizationId, client: createClient({ baseUrl: this.address, token, organizationId }) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#others, this.#api].map(end));
  }

  async #spawn(
    roles: string,
    ready: RegExp,
    main = ownMain,
    own: Record<string, string> = {},
  ): Promise<{ child: ChildProcess; lines: string[] }> {
    const { databaseUrl, folder, masterKey, environment } = this.#options;
    const env = {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      HOLDFAST_ROLES: roles,
      HOLDFAST_DATA: folder,
      DATABASE_URL: databaseUrl,
      MASTER_KEY: masterKey,
      LOG_LEVEL: 'error',
      ALLOW_EMULATOR_SOURCES: 'true',
      ALLOW_LOCAL_STORAGE: 'true',
      OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
      RATE_LIMIT_PER_MINUTE: '1000000',
      SHUTDOWN_GRACE_SECONDS: '1',
      ...environment,
      ...own,
    };
    const child = spawn(process.execPath, [...nodeOptions, main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const lines: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`a process with the roles ${roles} did not start in time`)),
        startTimeoutMs,
      );
      child.once('exit', () => reject(new Error(`a process with the roles ${roles} ended while starting`)));
      // Read until it ends, so that it never blocks on a full pipe; its warnings are shown.
      createInterface(child.stdout as NodeJS.ReadableStream).on('line', (line) => {
        if (lines.length < 100) lines.push(line);
        if (line.startsWith('{"level":50')) process.stderr.write(`${line}\n`);
        if (!ready.test(line)) return;
        clearTimeout(timer);
        resolve();
      });
    });
    return { child, lines };
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
