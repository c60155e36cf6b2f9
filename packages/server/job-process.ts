import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Config } from './config.ts';
import type { NamedDatabase } from './modules/index.ts';
import { minuteMs, secondMs } from './platform/durations.ts';
import type { Logger } from './platform/log.ts';
import { nodeOptions } from './platform/node-options.ts';

const ownProgram = fileURLToPath(new URL('./run-jobs.ts', import.meta.url));
/** Each pause after a short life is twice as long: a start takes seconds of a core, and those belong to the calls. */
const pauseMsMin = secondMs;
const pauseMsMax = minuteMs / 2;
const shortLifeMs = minuteMs;
/** For closing after the grace period: shorter than what the parent has, which still stops its database afterwards. */
const usualClosingMs = 5 * secondMs;

type OpenSample = (named: NamedDatabase) => Promise<string>;

/** What the process that answers calls tells the one that does the jobs. */
export type Order =
  | { readonly kind: 'begin'; readonly config: Config }
  | { readonly kind: 'sample opened'; readonly request: number; readonly address: string }
  | { readonly kind: 'sample not opened'; readonly request: number; readonly reason: string }
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

export interface JobProcessOptions {
  log: Logger;
  graceMs: number;
  /** For tests. */
  program?: string;
  pauseMs?: number;
  closingMs?: number;
}

/** A child that does the jobs with a lower priority. It is started again when it ends, and ends with its parent. */
export class JobProcess {
  readonly #log: Logger;
  readonly #program: string;
  readonly #pauseMsMin: number;
  readonly #endingMs: number;
  #pauseMs: number;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;

  constructor({ log, graceMs, program, pauseMs, closingMs }: JobProcessOptions) {
    this.#log = log;
    this.#program = program ?? ownProgram;
    this.#pauseMsMin = pauseMs ?? pauseMsMin;
    this.#pauseMs = this.#pauseMsMin;
    this.#endingMs = graceMs + (closingMs ?? usualClosingMs);
  }

  /** Does nothing if it was stopped meanwhile. */
  start(config: Config, openSample: OpenSample): void {
    if (this.#stopping) return;
    const begunMs = performance.now();
    const startAgain = (fields: object) => {
      this.#child = undefined;
      if (this.#stopping) return;
      if (performance.now() - begunMs > shortLifeMs) this.#pauseMs = this.#pauseMsMin;
      const againInMs = this.#pauseMs;
      this.#pauseMs = Math.min(2 * againInMs, pauseMsMax);
      this.#log.error({ ...fields, againInMs }, 'the process of the jobs ended and is started again');
      this.#restart = setTimeout(() => this.start(config, openSample), againInMs);
    };
    try {
      const child = fork(this.#program, {
        execArgv: [...nodeOptions, ...sharedOptions()],
        serialization: 'advanced',
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      this.#child = child;
      tell(child, { kind: 'begin', config });
      child.on('message', (message: OpenSampleRequest) => void this.#answer(child, message, openSample));
      child.on('error', (error) => {
        // One that never came to be has no exit either.
        if (child.pid === undefined) startAgain({ err: error });
        else this.#log.error({ err: error }, 'the process of the jobs failed');
      });
      child.once('exit', (code, signal) => startAgain({ code, signal }));
    } catch (error) {
      // Without memory for another process Node throws.
      startAgain({ err: error });
    }
  }

  /** Resolves when its jobs were handed back and it has ended. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child?.pid === undefined) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    tell(child, { kind: 'stop' });
    const timer = setTimeout(() => {
      this.#log.error('the process of the jobs did not end in time and is killed');
      child.kill('SIGKILL');
    }, this.#endingMs);
    await exit;
    clearTimeout(timer);
  }

  async #answer(child: ChildProcess, { kind, request, named }: OpenSampleRequest, openSample: OpenSample) {
    // A program that watches files sends messages of its own.
    if (kind !== 'open sample') return;
    try {
      tell(child, { kind: 'sample opened', request, address: await openSample(named) });
    } catch (error) {
      tell(child, { kind: 'sample not opened', request, reason: String(error) });
    }
  }
}

/** What an operator told Node, such as a limit of memory, but for what only one process can have. */
function sharedOptions(): string[] {
  // The value of an option may be an argument of its own, and then the two cannot be told apart.
  if (!process.execArgv.every((option) => option.startsWith('-'))) return [];
  return process.execArgv.filter((option) => !/^--(inspect|debug|watch)/.test(option));
}

/** A child that has just ended needs no orders. */
function tell(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}
