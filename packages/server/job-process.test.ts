import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ended, startBackupCluster } from './testing/backup-cluster.ts';

let service: Awaited<ReturnType<typeof startBackupCluster>>;
beforeEach(async () => {
  service = await startBackupCluster({
    documents: 300,
    roles: 'api,worker,scheduler',
    environment: { SHUTDOWN_GRACE_SECONDS: '10' },
  });
});
afterEach(() => service.close());

function childrenOf(pid: number | undefined): number[] {
  try {
    return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
  } catch {
    return [];
  }
}

async function jobProcess(other?: number): Promise<number> {
  const { pid } = service.cluster.api ?? {};
  await expect.poll(() => childrenOf(pid).filter((child) => child !== other), { timeout: 10_000 }).toHaveLength(1);
  return childrenOf(pid)[0] as number;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a service of all roles does its jobs behind its calls, in a process that is replaced when it dies', async () => {
  const { client, firestore } = service;
  const first = await jobProcess();
  firestore.control.addFault({ method: 'RunQuery', latencyMs: 3000 });
  const backupId = await service.start();
  await service.untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  if (process.platform === 'linux') {
    expect(getPriority(first)).toBe(5);
    expect(getPriority(service.cluster.api?.pid)).toBe(0);
  }
  process.kill(first, 'SIGKILL');
  expect((await client.listBackups({})).data.length).toBe(1);
  firestore.control.clearFaults();
  const second = await jobProcess(first);
  const done = await service.untilBackup(backupId, ended);
  expect(done).toMatchObject({ status: 'completed', documentCount: 300, error: null });
  expect(isAlive(second)).toBe(true);
});

test('a service that is told to stop hands back what its jobs do and ends with them', async () => {
  const { api } = service.cluster;
  const jobs = await jobProcess();
  service.firestore.control.addFault({ method: 'RunQuery', latencyMs: 3000 });
  await service.untilBackup(
    await service.start(),
    ({ status, progress }) => status === 'running' && progress.phase === 'Reading',
  );
  api?.kill('SIGTERM');
  expect((await once(api as NonNullable<typeof api>, 'exit'))[0]).toBe(0);
  expect(isAlive(jobs)).toBe(false);
});

test('the process of the jobs does not outlive a parent that was killed', async () => {
  const jobs = await jobProcess();
  await service.cluster.killApi();
  await expect.poll(() => isAlive(jobs)).toBe(false);
});

test('both processes of a service see the same sample database', async () => {
  const { client } = service;
  const connection = { type: 'emulator' as const, host: 'sample' };
  const body = { name: 'Sample', sourceProjectId: 'sample-shop', connection };
  const { id: projectId } = await client.createProject({ body });
  const { id } = (await client.createBackup({ body: { projectId } })) as { id: string };
  const { status, documentCount } = await service.untilBackup(id, ended);
  expect(status).toBe('completed');
  expect(documentCount).toBeGreaterThan(9000);
  const { data } = await client.diffBackup({ params: { backupId: id }, query: { against: 'live' } });
  expect(data).toMatchObject({ added: [], removed: [], changed: [], compared: documentCount });
});
