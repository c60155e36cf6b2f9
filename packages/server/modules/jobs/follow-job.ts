import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Wake } from '@holdfast/engine';
import type { Changes } from '../../platform/changes.ts';
import { secondMs } from '../../platform/durations.ts';

/** Keeps proxies from closing a quiet stream. A change whose notification was lost is seen after this time. */
const heartbeatMs = 15 * secondMs;
/** A follower gets at most one event in this time. */
const gatherMs = 200;

export interface FollowedJob {
  changes: Changes;
  organizationId: string;
  id: string;
  /** The current state as the follower sees it. */
  read(): Promise<{ data: object; isOver: boolean }>;
  signal: AbortSignal;
}

/** One server-sent event per visible change; the stream ends with the job. The job is read only when it changed. */
export function followJob(job: FollowedJob): Readable {
  return Readable.from(stepsOf(job));
}

async function* stepsOf({ changes, organizationId, id, read, signal }: FollowedJob): AsyncGenerator<string> {
  const wake = new Wake();
  const onAbort = () => wake.wake();
  signal.addEventListener('abort', onAbort);
  const stop = await changes.follow(organizationId, (change) => {
    if (change.id === id) wake.wake();
  });
  try {
    let last = '';
    while (!signal.aborted) {
      const { data, isOver } = await read();
      const text = JSON.stringify(data);
      yield text === last ? ': still there\n\n' : `event: progress\ndata: ${text}\n\n`;
      last = text;
      if (isOver) return;
      await wake.sleep(heartbeatMs);
      await sleep(gatherMs);
    }
  } finally {
    stop();
    signal.removeEventListener('abort', onAbort);
  }
}
