import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { presentProgress } from './present-backup.ts';

const pollMs = 500;
/** Keeps proxies from closing a quiet stream. */
const heartbeatMs = 15_000;

/** One server-sent event per visible change; the stream ends with the job. */
export function followJob(next: () => Promise<{ data: object; isOver: boolean }>, signal: AbortSignal): Readable {
  return Readable.from(changes(next, signal));
}

async function* changes(
  next: () => Promise<{ data: object; isOver: boolean }>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let last = '';
  let quietMs = 0;
  while (!signal.aborted) {
    const { data, isOver } = await next();
    const text = JSON.stringify(data);
    if (text !== last) yield `event: progress\ndata: ${text}\n\n`;
    else if (quietMs >= heartbeatMs) yield ': still there\n\n';
    quietMs = text === last && quietMs < heartbeatMs ? quietMs + pollMs : 0;
    last = text;
    if (isOver) return;
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

export async function followBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<Readable> {
  const { database } = context.platform;
  const read = () =>
    database.tenant(organizationId, (transaction) => backupStore.get(transaction, organizationId, backupId));
  await read();
  return followJob(async () => {
    const row = await read();
    const isOver = row.status !== 'pending' && row.status !== 'running';
    return { data: { id: row.id, status: row.status, progress: presentProgress(row), error: row.error }, isOver };
  }, signal);
}
