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

/** Waiting for a job is given up after the service was unreachable for this long. */
const patienceMs = 2 * minuteMs;
const retryMs = 500;
/** A stream that was silent for this long is opened again, because its connection may be dead. */
const quietMsMax = 30_000;

export function isOver({ status }: Pick<Job, 'status'>): boolean {
  return status !== 'pending' && status !== 'running';
}

/** Retries while the service is unreachable for a moment. */
export async function retryWhileUnavailable<T>({ signal }: Service, ask: () => Promise<T>): Promise<T> {
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

/** Every step of a job as the service reports it, until it has ended; reconnects when the connection breaks. */
export async function* followJob(service: Service, id: string): AsyncGenerator<Job> {
  for (;;) {
    const quiet = new AbortController();
    let timer = setTimeout(() => quiet.abort(), quietMsMax);
    try {
      const events = await retryWhileUnavailable(service, () =>
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

/** Shows the progress of a backup or a restore until it has ended, and returns its final record. */
export async function waitForJob(service: Service, id: string, options: WaitOptions): Promise<Backup | Restore> {
  const board = new ProgressBoard(options);
  try {
    for await (const state of followJob(service, id)) board.update([state]);
  } finally {
    board.finish();
  }
  return await retryWhileUnavailable(service, () => recordOf(service, id));
}

export async function recordOf({ client }: Service, id: string): Promise<Backup | Restore> {
  return kindOf(id) === 'restore'
    ? await client.getRestore({ params: { restoreJobId: id } })
    : await client.getBackup({ params: { backupId: id } });
}

/** For jobs without a stream of events: polls each second. */
export async function pollJob<T extends Job>(
  service: Service,
  ask: () => Promise<T>,
  options: WaitOptions,
): Promise<T> {
  const board = new ProgressBoard(options);
  try {
    for (;;) {
      const job = await retryWhileUnavailable(service, ask);
      board.update([job]);
      if (isOver(job)) return job;
      await sleep(retryMs, undefined, { signal: service.signal });
    }
  } finally {
    board.finish();
  }
}

/** Sets the exit code of a job that did not succeed. */
export function reportEnd(job: Pick<Job, 'status' | 'error'>): void {
  if (!isOver(job) || job.status === 'completed') return;
  const { status, error } = job;
  if (status === 'cancelled') process.exitCode = exitCode.cancelled;
  else process.exitCode = error === null ? exitCode.jobFailed : exitCodeOfService(error.code);
}

/** Why a job failed and how to fix it, on the error stream. */
export function printJobError({ error }: Pick<Job, 'error'>): void {
  if (error !== null) process.stderr.write(`${error.code}: ${error.message}\n${error.advice}\n`);
}
