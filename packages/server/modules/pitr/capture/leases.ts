import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from '../../../platform/database/database.ts';
import { secondMs } from '../../../platform/durations.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import { Superseded } from '../../jobs/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { pitrStore } from '../pitr-store.ts';
import { type CaptureSignals, captureProject } from './capture-project.ts';
import { leaseStore } from './lease-store.ts';
import { NothingToCapture } from './nothing-to-capture.ts';

const tickMs = 3_000;
/** New captures started per tick, because each asks its database for counts first. */
const claimedAtOnce = 100;
/** Captures handed over to other processes per tick; each resumes there within seconds. */
const handedOverAtOnce = 10;
const retrySecondsMax = 300;
const recheckSeconds = 60;
/** Failures in a row after which people are told. */
const failuresBeforeMail = 3;

/** How long a capture may take to write what it heard before it ends. */
const endingMs = 5 * secondMs;

/** This process ends its own capture. */
class Ending extends Superseded {}

interface Running {
  readonly epoch: number;
  /** Asks for the end; what was heard is written first. */
  readonly ending: AbortController;
  /** At once. */
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/**
 * The captures of this process. One lease per project says who captures it. The holder renews it with a heartbeat and
 * releases it on shutdown; when the heartbeat stops, another process takes over. A holder of an older epoch can no
 * longer append.
 */
export class CaptureLeases {
  readonly #context: PitrContext;
  readonly #holder = randomUUID();
  readonly #running = new Map<string, Running>();
  readonly #stopping = new AbortController();
  #asleep = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(context: PitrContext) {
    this.#context = context;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Capture was just switched on or off here, so do not wait for the next tick. */
  checkNow(): void {
    this.#asleep.abort();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    for (const running of this.#running.values()) end(running, 'the service is shutting down');
    await Promise.allSettled([...this.#running.values()].map(({ done }) => done));
    const { database, log } = this.#context.backups.platform;
    await database
      .system((transaction) => leaseStore.leave(transaction, this.#holder))
      .catch((error: unknown) => log.warn({ err: error }, 'this process could not say that it captures no more'));
  }

  async #run(): Promise<void> {
    const { log } = this.#context.backups.platform;
    while (!this.#stopping.signal.aborted) {
      this.#asleep = new AbortController();
      await this.#tick().catch((error: unknown) =>
        log.warn({ err: error }, 'capture leases could not be looked after'),
      );
      const signal = AbortSignal.any([this.#stopping.signal, this.#asleep.signal]);
      await sleep(tickMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #tick(): Promise<void> {
    const { database } = this.#context.backups.platform;
    const { held, share } = await database.system(async (transaction) => ({
      share: await leaseStore.shareOf(transaction, this.#holder),
      held: await leaseStore.heartbeat(transaction, this.#holder),
    }));
    for (const [projectId, running] of this.#running) {
      const lease = held.get(projectId);
      if (lease?.epoch !== running.epoch) running.stop.abort(new Superseded('the lease was lost'));
      else if (!lease.enabled) end(running, 'it was switched off');
    }
    await this.#dropIdle(held);
    this.#handOver(share);
    const room = Math.min(claimedAtOnce, share - this.#running.size);
    if (room <= 0) return;
    const claimed = await database.system((transaction) => leaseStore.claim(transaction, this.#holder, room));
    for (const { organizationId, projectId, epoch } of claimed) this.#begin(organizationId, projectId, epoch);
  }

  /** Releases leases without a capture: they would block every process. */
  async #dropIdle(held: ReadonlyMap<string, { epoch: number }>): Promise<void> {
    const idle = [...held].filter(([projectId]) => !this.#running.has(projectId));
    for (const [projectId, { epoch }] of idle)
      await this.#context.backups.platform.database.system((transaction) =>
        leaseStore.release(transaction, this.#holder, projectId, epoch),
      );
  }

  /** A surplus of one is not worth a move. */
  #handOver(share: number): void {
    const active = [...this.#running.values()].filter(
      ({ ending, stop }) => !ending.signal.aborted && !stop.signal.aborted,
    );
    if (active.length <= share + 1) return;
    const surplus = Math.min(handedOverAtOnce, active.length - share);
    for (const running of active.slice(-surplus)) end(running, 'another process has room for it');
  }

  #begin(organizationId: string, projectId: string, epoch: number): void {
    this.#running.get(projectId)?.stop.abort(new Superseded('a newer epoch began'));
    const [ending, stop] = [new AbortController(), new AbortController()];
    // Compares the controller, not the epoch: the epochs of a new log start again from the beginning.
    const signals = { ending: ending.signal, signal: stop.signal };
    const done = this.#capture(organizationId, projectId, epoch, signals).finally(() => {
      if (this.#running.get(projectId)?.stop === stop) this.#running.delete(projectId);
    });
    this.#running.set(projectId, { epoch, ending, stop, done });
  }

  async #capture(
    organizationId: string,
    projectId: string,
    epoch: number,
    { ending, signal }: CaptureSignals,
  ): Promise<void> {
    const { log } = this.#context.backups.platform;
    let error: unknown;
    try {
      log.info({ projectId, epoch }, 'capture begins');
      await captureProject(this.#context, organizationId, { projectId, epoch }, { ending, signal });
      error = ending.reason;
    } catch (thrown) {
      error = signal.aborted ? signal.reason : thrown;
    }
    if (error instanceof Superseded && !(error instanceof Ending)) return;
    await this.#letGo(organizationId, projectId, epoch, error).catch((failure: unknown) =>
      log.warn({ err: failure, projectId }, 'a capture lease could not be let go; it will lapse'),
    );
  }

  /** A failed capture is tried again, here or in another process, with growing pauses. The record says why it waits. */
  async #letGo(organizationId: string, projectId: string, epoch: number, error: unknown): Promise<void> {
    const { log, database } = this.#context.backups.platform;
    const isOurs = error instanceof Superseded || error instanceof NothingToCapture;
    if (!isOurs) log.warn({ err: error, projectId }, 'capture stopped; it will be tried again');
    await database.system(async (transaction) => {
      const row = await pitrStore.find(transaction, organizationId, projectId);
      // Only a captured batch resets the count of failures.
      const failures = (row?.failures ?? 0) + (isOurs ? 0 : 1);
      await leaseStore.letGo(transaction, this.#holder, projectId, epoch, {
        error: isOurs ? (row?.error ?? null) : toJobError(error),
        failures,
        retryAfterSeconds: retryAfter(error, failures),
      });
      if (!isOurs) await this.#markBroken(transaction, organizationId, projectId, toJobError(error));
      if (!isOurs && failures === failuresBeforeMail)
        await this.#reportStopped(transaction, organizationId, projectId, error);
    });
  }

  /** The project shows it too, like after a backup that could not read the source. */
  async #markBroken(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
    error: StoredError,
  ): Promise<void> {
    if (error.code !== 'SOURCE_AUTH_ERROR') return;
    const project = await projectStore.findKept(transaction, organizationId, projectId);
    if (project) await this.#context.backups.projects.markBroken(transaction, project, error);
  }

  async #reportStopped(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
    error: unknown,
  ): Promise<void> {
    const project = await projectStore.findKept(transaction, organizationId, projectId);
    const { message, advice } = toJobError(error);
    await this.#context.troubles.begin(transaction, organizationId, 'pitr.stopped', projectId, {
      title: `Changes of ${project?.name ?? projectId} are not being captured`,
      detail: message,
      advice,
      page: `/projects/${projectId}`,
    });
  }
}

/** Ends a capture gently, and stops it when that takes too long. */
function end({ ending, stop, done }: Running, why: string): void {
  if (ending.signal.aborted) return;
  const reason = new Ending(why);
  ending.abort(reason);
  const timer = setTimeout(() => stop.abort(reason), endingMs);
  done.finally(() => clearTimeout(timer));
}

function retryAfter(error: unknown, failures: number): number {
  if (error instanceof NothingToCapture) return recheckSeconds;
  return error instanceof Superseded ? 0 : Math.min(retrySecondsMax, 2 ** failures);
}
