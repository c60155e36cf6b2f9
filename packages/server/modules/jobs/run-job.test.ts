import { EngineError, noteReceived, noteResumed, noteWaiting, trackRequest } from '@holdfast/engine';
import { afterEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../../config.ts';
import { createLogger } from '../../platform/log.ts';
import { Problem } from '../../platform/problem.ts';
import { Postponed } from '../../platform/queue.ts';
import { type JobRun, postponable, runJob, Superseded } from './index.ts';

const platform = {
  config: loadConfig({ JOB_ATTEMPTS: '3', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }),
  log: createLogger('silent'),
};
const passing = new EngineError('STORAGE_UNAVAILABLE', 'away');

/** Runs one attempt and returns how it ended. */
async function attempt(run: Partial<JobRun> & Pick<JobRun, 'work'>) {
  const failed: unknown[] = [];
  const job = { signal: new AbortController().signal, attempt: 1 };
  const fail = async (reason: unknown) => void failed.push(reason);
  const ended = await runJob({ platform, job, record: {}, fail, ...run }).catch((error: unknown) => ({
    thrown: error,
  }));
  return { ended, failed };
}

const throwing = (error: Error) => async () => {
  throw error;
};

test('completed work does not fail its record', async () => {
  expect(await attempt({ work: async () => undefined })).toEqual({ ended: 'done', failed: [] });
});

test('a transient error is left to the queue until the attempts are used up, and then fails the record', async () => {
  const work = throwing(passing);
  for (const failures of [1, 2])
    expect(await attempt({ work, countFailure: async () => failures })).toEqual({
      ended: { thrown: passing },
      failed: [],
    });
  expect(await attempt({ work, countFailure: async () => 3 })).toEqual({ ended: 'failed', failed: [passing] });
});

test('a permanent error fails the record at once and is not retried', async () => {
  const refused = new Problem('READ_BUDGET_EXCEEDED', 'too much');
  expect(await attempt({ work: throwing(refused) })).toEqual({ ended: 'failed', failed: [refused] });
});

test('work that another worker has taken over ends silently, also when the engine only reports an abort', async () => {
  const gone = new Superseded('elsewhere');
  const told = new EngineError('CANCELLED', 'stopped', { cause: gone });
  for (const error of [gone, told])
    expect(await attempt({ work: throwing(error) })).toEqual({ ended: 'superseded', failed: [] });
});

test('work that the queue stops is passed to another worker and does not count as a failure', async () => {
  const stop = new AbortController();
  const work = async () => {
    stop.abort(new Error('the service is shutting down'));
    throw passing;
  };
  const countFailure = async () => expect.unreachable('it was counted');
  const job = { signal: stop.signal, attempt: 1 };
  expect(await attempt({ job, work, countFailure })).toEqual({ ended: { thrown: passing }, failed: [] });
});

/** Work that runs until it is aborted. */
const untilStopped = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

test('a check that finds the record ended stops the work, and a check that fails changes nothing', {
  tags: 'long',
}, async () => {
  let checks = 0;
  const check = async () => {
    checks += 1;
    if (checks === 1) throw new Error('the database is away');
    return new Superseded('it has ended');
  };
  expect(await attempt({ check, work: untilStopped })).toEqual({ ended: 'superseded', failed: [] });
  expect(checks).toBe(2);
});

test('work without a heartbeat is ended and its record fails, and work with heartbeats goes on', {
  tags: 'long',
}, async () => {
  const stalled = await attempt({ stallAfterMs: 500, work: untilStopped });
  expect(stalled.ended).toBe('failed');
  expect(stalled.failed).toMatchObject([{ code: 'STORAGE_UNAVAILABLE' }]);
  const alive = await attempt({
    stallAfterMs: 500,
    work: async (_signal, watch) => {
      for (let beats = 0; beats < 12; beats++) {
        watch.beat();
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
    },
  });
  expect(alive).toEqual({ ended: 'done', failed: [] });
});

afterEach(() => vi.useRealTimers());

test('waiting work leaves its place to others without a failure, and waits on when nobody needs the place', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const run = (othersWait: boolean, attemptNumber: number, goesOn = false) => {
    const countFailure = vi.fn(async () => 1);
    const job = { signal: new AbortController().signal, attempt: attemptNumber, othersWait: async () => othersWait };
    const work = async (signal: AbortSignal) => {
      noteWaiting(passing);
      if (goesOn) noteResumed();
      await vi.advanceTimersByTimeAsync(10_000);
      signal.throwIfAborted();
    };
    return attempt({ work, job, countFailure }).then(({ ended }) => ({
      ended,
      failures: countFailure.mock.calls.length,
    }));
  };
  expect(await run(true, 1)).toEqual({ ended: { thrown: expect.objectContaining({ name: 'Error' }) }, failures: 0 });
  expect(await run(false, 1)).toEqual({ ended: 'done', failures: 0 });
  expect(await run(true, 1, true)).toEqual({ ended: 'done', failures: 0 });
  expect(await run(true, 21)).toEqual({ ended: 'done', failures: 0 });
});

/** Runs a request for twelve seconds and returns whether the work had to leave its place. */
async function asking(run: { attempt?: number; bytesToSend?: number; perSecond?: (second: number) => void }) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const countFailure = vi.fn(async () => 1);
  const job = { signal: new AbortController().signal, attempt: run.attempt ?? 1, othersWait: async () => true };
  const work = (signal: AbortSignal) =>
    trackRequest(run.bytesToSend ?? 0, async () => {
      for (let second = 0; second < 12; second++) {
        run.perSecond?.(second);
        await vi.advanceTimersByTimeAsync(1000);
      }
      signal.throwIfAborted();
    });
  const { ended } = await attempt({ work, job, countFailure });
  return {
    ended: ended === 'done' ? ended : (ended as { thrown: Error }).thrown,
    failures: countFailure.mock.calls.length,
  };
}

test('a request without an answer counts as waiting, and after many attempts as a failure that holds no place', async () => {
  expect(await asking({})).toEqual({ ended: expect.any(Postponed), failures: 0 });
  expect(await asking({ attempt: 21 })).toEqual({ ended: expect.any(EngineError), failures: 1 });
});

test('a transfer at a decent rate does not count as silence, and a trickle does', async () => {
  expect(await asking({ perSecond: () => noteReceived(300_000) })).toEqual({ ended: 'done', failures: 0 });
  expect(await asking({ perSecond: () => noteReceived(10) })).toEqual({ ended: expect.any(Postponed), failures: 0 });
  expect(await asking({ bytesToSend: 2_500_000 })).toEqual({ ended: 'done', failures: 0 });
  expect(await asking({ bytesToSend: 250_000 })).toEqual({ ended: expect.any(Postponed), failures: 0 });
  const answered = () => void trackRequest(0, async () => 'an answer');
  expect(await asking({ perSecond: answered })).toEqual({ ended: 'done', failures: 0 });
});

test('work without a record is postponed too, but not in its last attempt', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const run = (lastAttempt: boolean) => {
    const job = { id: 'x', data: {}, attempt: 30, lastAttempt, signal: new AbortController().signal };
    const work = postponable(platform.log, ({ signal }) =>
      trackRequest(0, async () => {
        await vi.advanceTimersByTimeAsync(8000);
        signal.throwIfAborted();
      }),
    );
    return work({ ...job, othersWait: async () => true });
  };
  await expect(run(false)).rejects.toBeInstanceOf(Postponed);
  await run(true);
});
