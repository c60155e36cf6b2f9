import { parentPort, workerData } from 'node:worker_threads';

/** What the noisy tenant has, and where the service is. */
export interface NoiseOptions {
  address: string;
  token: string;
  organizationId: string;
  destinationId: string;
  projectIds: readonly string[];
  backupIds: readonly string[];
  importPath: string;
}

/** How the calls of one round were answered, by status. */
export type NoiseReport = Record<string, number>;

const { address, token, organizationId, destinationId, projectIds, backupIds, importPath } = workerData as NoiseOptions;
const pollMs = 500;
/** Somebody who is told to wait and does not listen. */
const impatientMs = 200;
const answerMs = 30_000;
/** A little more than the ten calls a second that an organization has. */
const callEveryMs = 90;

let isOn = false;
/** Calls that are still under way when the noise ends are hung up. */
let hangUp = new AbortController();
let nextCallAtMs = 0;
let report: NoiseReport = {};
let turn = 0;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
const next = (all: readonly string[]) => all[turn++ % all.length] as string;

interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: only the id and the status of a record are looked at.
  data: any;
}

/** Spread over time, so that every round has its share of calls that are let through. */
async function paced(): Promise<void> {
  const nowMs = performance.now();
  nextCallAtMs = Math.max(nowMs, nextCallAtMs + callEveryMs);
  await pause(nextCallAtMs - nowMs);
}

async function call(method: string, path: string, body?: unknown, credential = token): Promise<Answered> {
  await paced();
  if (!isOn) return { status: 0, data: undefined };
  try {
    const response = await fetch(`${address}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${credential}`,
        'x-organization-id': organizationId,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.any([AbortSignal.timeout(answerMs), hangUp.signal]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    count(String(response.status));
    if (response.status === 429) await pause(impatientMs);
    return { status: response.status, data: text.startsWith('{"success":true') ? JSON.parse(text).data : undefined };
  } catch (error) {
    if (!isOn) return { status: 0, data: undefined };
    count(error instanceof Error ? error.name : 'failed');
    await pause(impatientMs);
    return { status: 0, data: undefined };
  }
}

function count(what: string): void {
  report[what] = (report[what] ?? 0) + 1;
}

/** Starts a job and waits for its end. */
async function job(path: string, body: unknown, recordPath: (id: string) => string): Promise<void> {
  const { data } = await call('POST', path, body);
  for (let isOver = data === undefined; isOn && !isOver; ) {
    await pause(pollMs);
    const { status, data: record } = await call('GET', recordPath(data.id));
    isOver = status === 404 || (record !== undefined && record.status !== 'pending' && record.status !== 'running');
  }
}

const backupPath = (id: string) => `/backups/${id}`;

/** Everything a tenant may do, and how many do it at once. */
const habits: readonly [count: number, act: () => Promise<unknown>][] = [
  [6, () => job('/backups', { projectId: next(projectIds) }, backupPath)],
  [3, restore],
  [3, importFile],
  [2, () => job(`/backups/${next(backupIds)}/drill`, {}, () => `/backups/${next(backupIds)}`)],
  // One more than are allowed.
  [17, () => call('GET', `/backups/${next(backupIds)}/export`)],
  [4, () => call('GET', `/backups/${next(backupIds)}/documents?limit=200&prefix=0`)],
  [2, () => call('GET', `/backups/${next(backupIds)}/diff?against=live&limit=200`)],
  [6, () => call('GET', '/backups?limit=200')],
  [4, () => call('GET', '/backups?limit=200', undefined, 'fb_sa_wrong')],
  [2, () => call('POST', '/backups', { nonsense: 'x'.repeat(500_000) })],
];

function restore(): Promise<void> {
  const body = { backupId: next(backupIds), targetProjectId: next(projectIds), safetyBackup: false };
  return job('/backups/restore', { ...body, mergeMode: 'skip_existing' }, (id) => `/backups/restore/${id}`);
}

function importFile(): Promise<void> {
  const metadata = { source: 'json' };
  const body = { projectId: next(projectIds), storageDestinationId: destinationId, path: importPath, metadata };
  return job('/backups/import', body, backupPath);
}

async function keepOn(act: () => Promise<unknown>): Promise<void> {
  while (isOn) await act();
}

let habitsUnderWay: Promise<unknown> = Promise.resolve();

parentPort?.on('message', async (order: 'begin' | 'end') => {
  if (order === 'begin') {
    report = {};
    isOn = true;
    hangUp = new AbortController();
    habitsUnderWay = Promise.all(habits.flatMap(([times, act]) => Array.from({ length: times }, () => keepOn(act))));
    return;
  }
  isOn = false;
  hangUp.abort();
  await habitsUnderWay;
  parentPort?.postMessage(report);
});
