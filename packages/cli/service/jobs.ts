import { setTimeout as sleep } from 'node:timers/promises';
import { type Backup, minuteMs, type Restore } from '@holdfast/contract';
import { HoldfastError } from '@holdfast/contract/client';
import { wrongUsage } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { exitCodeOfService } from './exit-code.ts';
import type { Job } from './job.ts';
import type { WaitOptions } from './options.ts';
import { ProgressBoard } from './progress-board.ts';
import type { Service } from './session.ts';

/** So long a service may be away before waiting for its job is given up. */
const patienceMs = 2 * minuteMs;
const retryMs = 500;
/** A stream that has told nothing for so long is opened again: its connection may be dead. */
const quietMsMax = 30_000;

export function isOver({ status }: Pick<Job, 'status'>): boolean {
  return status !== 'pending' && status !== 'running';
}

/** Asks again and again while the service is away for a moment. */
export async function patiently<T>({ signal }: Service, ask: () => Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !isPassing(error) || performance.now() - startedAtMs > patienceMs) throw error;
    }
    await sleep(retryMs, undefined, { signal });
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return false;
  return error.code === 'NETWORK_ERROR' || error.status === 429 || error.status === 503;
}

/** Every step of a job as the service tells it, until it has ended; connected anew when the connection breaks. */
export async function* followJob(service: Service, id: string): AsyncGenerator<Job> {
  for (;;) {
    const quiet = new AbortController();
    let timer = setTimeout(() => quiet.abort(), quietMsMax);
    try {
      const events = await patiently(service, () =>
        openEvents(service, id, AbortSignal.any([service.signal, quiet.signal])),
      );
      for await (const state of events) {
        clearTimeout(timer);
        timer = setTimeout(() => quiet.abort(), quietMsMax);
        yield state;
        if (isOver(state)) return;
      }
    } catch (error) {
      if (service.signal.aborted || !(isPassing(error) || quiet.signal.aborted)) throw error;
    } finally {
      clearTimeout(timer);
    }
    await sleep(retryMs, undefined, { signal: service.signal });
  }
}

async function openEvents({ client }: Service, id: string, signal: AbortSignal): Promise<AsyncIterable<Job>> {
  return kindOf(id) === 'restore'
    ? await client.streamRestoreEvents({ params: { restoreJobId: id }, signal })
    : await client.streamBackupEvents({ params: { backupId: id }, signal });
}

export function kindOf(id: string): 'backup' | 'restore' {
  if (id.startsWith('rst_')) return 'restore';
  if (id.startsWith('bkp_')) return 'backup';
  throw wrongUsage(`${id} is the id of neither a backup nor a restore.`);
}

/** Shows how a backup or a restore goes until it has ended, and gives its final record. */
export async function waitForJob(service: Service, id: string, options: WaitOptions): Promise<Backup | Restore> {
  const board = new ProgressBoard(options);
  try {
    for await (const state of followJob(service, id)) board.update([state]);
  } finally {
    board.finish();
  }
  return await patiently(service, () => recordOf(service, id));
}

export async function recordOf({ client }: Service, id: string): Promise<Backup | Restore> {
  return kindOf(id) === 'restore'
    ? await client.getRestore({ params: { restoreJobId: id } })
    : await client.getBackup({ params: { backupId: id } });
}

/** For jobs without a stream of events: asks each second. */
export async function pollJob<T extends Job>(
  service: Service,
  ask: () => Promise<T>,
  options: WaitOptions,
): Promise<T> {
  const board = new ProgressBoard(options);
  try {
    for (;;) {
      const job = await patiently(service, ask);
      board.update([job]);
      if (isOver(job)) return job;
      await sleep(retryMs, undefined, { signal: service.signal });
    }
  } finally {
    board.finish();
  }
}

/** A job that did not reach its aim says so in the exit code. */
export function reportEnd(job: Pick<Job, 'status' | 'error'>): void {
  if (!isOver(job) || job.status === 'completed') return;
  const { status, error } = job;
  if (status === 'cancelled') process.exitCode = exitCode.cancelled;
  else process.exitCode = error === null ? exitCode.jobFailed : exitCodeOfService(error.code);
}

/** Why a job failed and how to mend it, on the error stream. */
export function printJobError({ error }: Pick<Job, 'error'>): void {
  if (error !== null) process.stderr.write(`${error.code}: ${error.message}\n${error.advice}\n`);
}
