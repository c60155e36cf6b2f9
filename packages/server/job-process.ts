import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Config } from './config.ts';
import type { NamedDatabase } from './modules/index.ts';
import { secondMs } from './platform/durations.ts';
import type { Logger } from './platform/log.ts';
import { nodeOptions } from './platform/node-options.ts';

const program = fileURLToPath(new URL('./run-jobs.ts', import.meta.url));
/** It takes up to this long until an ended process is replaced. */
const pauseMs = secondMs;

type OpenSample = (named: NamedDatabase) => Promise<string>;

/** What the process that answers calls tells the one that does the jobs. */
export type Order =
  | { readonly kind: 'begin'; readonly config: Config }
  | { readonly kind: 'sample opened'; readonly request: number; readonly address: string }
  | { readonly kind: 'stop' };

/** The sample database lives in the process that answers calls. */
export interface OpenSampleRequest {
  readonly kind: 'open sample';
  readonly request: number;
  readonly named: NamedDatabase;
}

/**
 * Whether the jobs get a process of their own. Otherwise their work would compete on equal terms with the calls, and
 * everybody would wait for the backups of one.
 */
export const hasJobProcess = ({ HOLDFAST_ROLES }: Config) =>
  HOLDFAST_ROLES.includes('api') && HOLDFAST_ROLES.includes('worker');

/** The two processes of a service share its connections to the database. */
const sharedPoolSize = ({ DATABASE_POOL_SIZE }: Config) => Math.max(2, Math.floor(DATABASE_POOL_SIZE / 2));

export function configOfCalls(config: Config): Config {
  return { ...config, HOLDFAST_ROLES: ['api'], DATABASE_POOL_SIZE: sharedPoolSize(config) };
}

interface Found {
  readonly databaseUrl: string | undefined;
  readonly baseUrl: string;
}

export function configOfJobs(config: Config, { databaseUrl, baseUrl }: Found): Config {
  return {
    ...config,
    HOLDFAST_ROLES: config.HOLDFAST_ROLES.filter((role) => role !== 'api'),
    DATABASE_POOL_SIZE: sharedPoolSize(config),
    DATABASE_URL: databaseUrl,
    BASE_URL: baseUrl,
  };
}

/** A child that does the jobs with a lower priority. It is started again when it ends, and ends with its parent. */
export class JobProcess {
  readonly #log: Logger;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Does nothing if it was stopped meanwhile. */
  start(config: Config, openSample: OpenSample): void {
    if (this.#stopping) return;
    const child = fork(program, {
      execArgv: [...nodeOptions],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    tell(child, { kind: 'begin', config });
    child.on('message', (message: OpenSampleRequest) => void this.#answer(child, message, openSample));
    child.on('error', (error) => this.#log.error({ err: error }, 'the process of the jobs failed'));
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      if (this.#stopping) return;
      this.#log.error({ code, signal }, 'the process of the jobs ended and is started again');
      this.#restart = setTimeout(() => this.start(config, openSample), pauseMs);
    });
  }

  /** Resolves when its jobs were handed back and it has ended. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#restart);
    if (!this.#child) return;
    const exit = once(this.#child, 'exit');
    tell(this.#child, { kind: 'stop' });
    await exit;
  }

  async #answer(child: ChildProcess, { kind, request, named }: OpenSampleRequest, openSample: OpenSample) {
    // A program that watches files sends messages of its own.
    if (kind === 'open sample') tell(child, { kind: 'sample opened', request, address: await openSample(named) });
  }
}

/** A child that has just ended needs no orders. */
function tell(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}
