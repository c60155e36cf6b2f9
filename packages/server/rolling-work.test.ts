// @module-tag long
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from './testing/backup-cluster.ts';
import { fingerprintsOf } from './testing/firestore-contents.ts';

const documents = 4000;
const roles = ['worker', 'worker', 'scheduler', 'scheduler', 'api'] as const;
const target = { project: 'target', database: '(default)' };
const trial = { project: 'trial', database: '(default)' };

let bench: BackupCluster;
beforeAll(async () => {
  // A job that is handed back has not failed, so one attempt must be enough.
  const environment = { RESTORE_RANGE_DOCUMENTS: '1000', JOB_ATTEMPTS: '1', SHUTDOWN_GRACE_SECONDS: '4' };
  bench = await startBackupCluster({ documents, roles: 'api', environment });
});
afterAll(() => bench.close());

const contentsOf = ({ project }: typeof target) => fingerprintsOf(bench.firestore.address, project);

async function connect({ project }: typeof target): Promise<string> {
  const connection = { type: 'emulator' as const, host: bench.firestore.address };
  const { id } = await bench.client.createProject({ body: { name: project, sourceProjectId: project, connection } });
  await bench.client.updateProject({ params: { projectId: id }, body: { settings: { writeRampUp: false } } });
  return id;
}

test('work of every kind continues while all processes are replaced one after the other: nothing fails, nothing is done twice, and an undo is exact', {
  timeout: 400_000,
}, async () => {
  const { client, cluster, projectId, firestore } = bench;
  const processes: ChildProcess[] = [];
  for (const role of roles) processes.push(await cluster.startRole(role));
  const [destination] = (await client.listStorageDestinations()).data;
  const file = { users: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`u${index}`, { index }])) };
  const folder = join(bench.folder, 'storage', bench.session.organizationId, 'storage');
  const backupId = await bench.start();
  expect(await bench.untilBackup(backupId, ended)).toMatchObject({ status: 'completed', documentCount: documents });
  const wanted = await contentsOf(bench.database);
  await writeFile(join(folder, 'users.json'), JSON.stringify(file));

  const [targetProjectId, trialProjectId] = [await connect(target), await connect(trial)];
  fillFast(firestore.control.database(target), { collection: 'items', documents: documents / 2, seed: 100 });
  fillFast(firestore.control.database(target), { collection: 'extra', documents: 300, seed: 100 });
  const former = await contentsOf(target);
  for (const method of ['RunQuery', 'BatchWrite']) firestore.control.addFault({ method, latencyMs: 1500 });
  const another = await bench.start();
  const { id: restoreId } = await client.startRestore({
    body: { backupId, targetProjectId, options: { deleteExtra: true } },
  });
  await client.startDrill({ params: { backupId }, body: { targetProjectId: trialProjectId } });
  const imported: string[] = [];
  for (const [place, role] of roles.entries()) {
    const metadata = { source: 'json' as const };
    const storageDestinationId = destination!.id;
    imported.push(
      (await client.importBackup({ body: { projectId, storageDestinationId, path: 'users.json', metadata } })).id,
    );
    await client.startDrill({ params: { backupId }, body: {} });
    await client.verifyBackup({ params: { backupId } });
    const leaving = processes[place] as ChildProcess;
    leaving.kill('SIGTERM');
    expect(await once(leaving, 'exit')).toEqual([0, null]);
    processes[place] = await cluster.startRole(role);
    const { verification } = await bench.untilBackup(backupId, (seen) => seen.verification?.status !== 'running');
    expect(verification).toMatchObject({ status: 'passed', documents, errors: [] });
  }
  firestore.control.clearFaults();

  expect(await bench.untilBackup(another, ended)).toMatchObject({ status: 'completed', documentCount: documents });
  for (const id of imported)
    expect(await bench.untilBackup(id, ended)).toMatchObject({ status: 'completed', documentCount: 50 });
  const drills = async () => (await client.listDrills({ params: { backupId } })).data;
  await expect.poll(async () => (await drills()).every(ended), { timeout: 120_000 }).toBe(true);
  for (const drill of await drills()) expect(drill).toMatchObject({ status: 'completed', passed: true, error: null });
  const restore = await bench.untilRestore(restoreId, ended);
  expect(restore, JSON.stringify(restore)).toMatchObject({ status: 'completed', errors: { count: 0 } });
  expect(await contentsOf(target)).toEqual(wanted);
  const undo = await client.undoRestore({ params: { restoreJobId: restoreId }, body: {} });
  expect(await bench.untilRestore(undo.id, ended)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contentsOf(target)).toEqual(former);
});
