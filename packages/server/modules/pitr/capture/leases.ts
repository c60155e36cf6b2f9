import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from '../../../platform/database/database.ts';
import { toJobError } from '../../job-error.ts';
import { Superseded } from '../../jobs/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { pitrStore } from '../pitr-store.ts';
import { captureProject } from './capture-project.ts';
import { NothingToCapture } from './nothing-to-capture.ts';

const tickMs = 3_000;
/** New captures begun per tick: each asks its database for counts first. */
const claimedAtOnce = 25;
const retrySecondsMax = 300;
const lookAgainSeconds = 60;
/** Failures in a row after which people are told. */
const failuresTold = 3;

interface Running {
  readonly epoch: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/**
 * The captures of this process. A lease per project says who captures it: kept by a heartbeat, taken over when the heart
 * has stopped, let go on shutdown. Whoever holds an older epoch can no longer append.
 */
export class CaptureLeases {
  readonly #context: PitrContext;
  readonly #holder = randomUUID();
  readonly #running = new Map<string, Running>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(context: PitrContext) {
    this.#context = context;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    for (const { stop } of this.#running.values()) stop.abort(new Superseded('the service is shutting down'));
    await Promise.allSettled([...this.#running.values()].map(({ done }) => done));
  }

  async #run(): Promise<void> {
    const { log } = this.#context.backups.platform;
    while (!this.#stopping.signal.aborted) {
      await this.#tick().catch((error: unknown) =>
        log.warn({ err: error }, 'capture leases could not be looked after'),
      );
      await sleep(tickMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  async #tick(): Promise<void> {
    const { database } = this.#context.backups.platform;
    const held = await database.system((transaction) => pitrStore.heartbeat(transaction, this.#holder));
    for (const [projectId, { epoch, stop }] of this.#running)
      if (held.get(projectId) !== epoch) stop.abort(new Superseded('the lease was lost'));
    const claimed = await database.system((transaction) => pitrStore.claim(transaction, this.#holder, claimedAtOnce));
    for (const { organizationId, projectId, epoch } of claimed) this.#begin(organizationId, projectId, epoch);
  }

  #begin(organizationId: string, projectId: string, epoch: number): void {
    this.#running.get(projectId)?.stop.abort(new Superseded('a newer epoch began'));
    const stop = new AbortController();
    const done = this.#capture(organizationId, projectId, epoch, stop.signal).finally(() => {
      if (this.#running.get(projectId)?.epoch === epoch) this.#running.delete(projectId);
    });
    this.#running.set(projectId, { epoch, stop, done });
  }

  async #capture(organizationId: string, projectId: string, epoch: number, signal: AbortSignal): Promise<void> {
    const { log } = this.#context.backups.platform;
    let error: unknown;
    try {
      log.info({ projectId, epoch }, 'capture begins');
      await captureProject(this.#context, organizationId, { projectId, epoch }, signal);
    } catch (thrown) {
      error = signal.aborted ? signal.reason : thrown;
    }
    if (error instanceof Superseded && !this.#stopping.signal.aborted) return;
    await this.#letGo(organizationId, projectId, epoch, error).catch((failure: unknown) =>
      log.warn({ err: failure, projectId }, 'a capture lease could not be let go; it will lapse'),
    );
  }

  /** What failed is tried again, here or elsewhere, with growing pauses; the record says why it stands still. */
  async #letGo(organizationId: string, projectId: string, epoch: number, error: unknown): Promise<void> {
    const { log, database } = this.#context.backups.platform;
    const isOurs = error instanceof Superseded || error instanceof NothingToCapture;
    if (!isOurs) log.warn({ err: error, projectId }, 'capture stopped; it will be tried again');
    await database.system(async (transaction) => {
      const row = await pitrStore.find(transaction, organizationId, projectId);
      // What is no failure does not make up for one either: only a captured batch does.
      const failures = (row?.failures ?? 0) + (isOurs ? 0 : 1);
      await pitrStore.letGo(transaction, this.#holder, projectId, epoch, {
        error: isOurs ? (row?.error ?? null) : toJobError(error),
        failures,
        retryAfterSeconds: retryAfter(error, failures),
      });
      if (!isOurs && failures === failuresTold) await this.#tellStopped(transaction, organizationId, projectId, error);
    });
  }

  async #tellStopped(
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

function retryAfter(error: unknown, failures: number): number {
  if (error instanceof NothingToCapture) return lookAgainSeconds;
  return error instanceof Superseded ? 0 : Math.min(retrySecondsMax, 2 ** failures);
}
