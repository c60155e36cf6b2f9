import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { vi } from 'vitest';
import { type BackupBench, startBackupBench } from './backup-bench.ts';
import { untilEnded } from './protected-project.ts';
import type { TestResponse } from './test-app.ts';

/** A bench with a log that is stored often and listens as in production, and the owner of its database. */
export async function startPitrBench(
  more: Record<string, string> = {},
): Promise<{ bench: BackupBench; owner: pg.Client }> {
  const environment = { PITR_SEGMENT_SECONDS: '0.1', ACCESS_TOKEN_TTL: '86400', ...more };
  const bench = await startBackupBench(environment, { listenMode: 'as-production', listenHeartbeatMs: 50 });
  const owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
  return { bench, owner };
}

/**
 * Paths of the users at an instant, over all pages: a page also ends by time, after few documents on a busy machine.
 */
export async function usersAt({ app, as, shop }: BackupBench, at: string): Promise<string[]> {
  const paths: string[] = [];
  for (let cursor = ''; ; ) {
    const query = `at=${at}&collection=users&limit=100${cursor}`;
    const page = await app.request('GET', `/api/v1/projects/${shop.projectId}/pitr/view/documents?${query}`, as);
    if (page.status !== 200) throw new Error(page.text);
    for (const { path } of page.body.data) paths.push(path);
    const { nextCursor } = page.body.pagination;
    if (!nextCursor) return paths;
    cursor = `&cursor=${nextCursor}`;
  }
}

interface Differences {
  added: object[];
  removed: object[];
  changed: object[];
}

/** Every page of a comparison as one; these pages also end by time. */
export async function wholeDiff({ app, as }: Pick<BackupBench, 'app' | 'as'>, path: string): Promise<Differences> {
  const whole: Differences = { added: [], removed: [], changed: [] };
  for (let cursor = ''; ; ) {
    const page = await app.request('GET', `${path}&limit=200${cursor}`, as);
    if (page.status !== 200) throw new Error(page.text);
    for (const kind of ['added', 'removed', 'changed'] as const) whole[kind].push(...page.body.data[kind]);
    const { nextCursor } = page.body.pagination;
    if (!nextCursor) return whole;
    cursor = `&cursor=${nextCursor}`;
  }
}

/** The same with capture switched on and one document, and helpers to read its past. */
export interface CapturedBench {
  bench: BackupBench;
  owner: pg.Client;
  /** Calls the project's point-in-time recovery. */
  ask(method: string, path: string, body?: object): Promise<TestResponse>;
  shown(): ReturnType<BackupBench['get']>;
  usersAt(at: string): Promise<TestResponse>;
  /** A captured moment with one more user; capture is then off. */
  capturedWith(id: string): Promise<string>;
  /** Rescans the first destination; returns the task at its end. */
  rescan(): ReturnType<BackupBench['get']>;
  close(): Promise<void>;
}

export async function startCapturedBench(more: Record<string, string> = {}): Promise<CapturedBench> {
  const { bench, owner } = await startPitrBench(more);
  await bench.startOver();
  const pitr = `/projects/${bench.shop.projectId}/pitr`;
  const ask = (method: string, path: string, body?: object) =>
    bench.app.request(method, `/api/v1${pitr}${path}`, { ...bench.as, ...(body ? { body } : {}) });
  await ask('POST', '/enable', { retentionDays: 3 });
  const shown = () => bench.get(pitr);
  const until = (isSo: () => Promise<boolean>) => vi.waitUntil(isSo, { timeout: 60_000, interval: 50 });
  return {
    bench,
    owner,
    ask,
    shown,
    capturedWith: async (id) => {
      await until(async () => (await shown()).status === 'running');
      await bench.firestore.doc(`users/${id}`).set({ n: 1 });
      await sleep(20);
      const at = new Date();
      await sleep(20);
      await bench.firestore.doc('users/last').set({ at: at.getTime() });
      await until(async () => {
        const { rows } = await owner.query('select max(covered_through) as through from pitr_segments');
        return Date.parse(rows[0].through ?? 0) > at.getTime();
      });
      await ask('POST', '/disable', {});
      await until(async () => (await owner.query('select holder from pitr_logs')).rows[0].holder === null);
      return at.toISOString();
    },
    usersAt: (at) => ask('GET', `/view/documents?at=${at}&collection=users`),
    rescan: async () => {
      const [{ id }] = await bench.get('/storage-destinations');
      const started = await bench.app.request('POST', `/api/v1/storage-destinations/${id}/rescan`, bench.as);
      return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
    },
    close: async () => {
      await owner.end();
      await bench.close();
    },
  };
}
