import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

async function connect(sourceProjectId: string): Promise<string> {
  const connection = { type: 'emulator', host: bench.sandbox.address };
  const { status, text, body } = await call('POST', '/projects', { name: 'One', sourceProjectId, connection });
  expect(status, text).toBe(201);
  return body.data.id;
}

async function disconnect(id: string): Promise<void> {
  const { status, text } = await call('DELETE', `/projects/${id}`);
  expect(status, text).toBe(200);
}

const kept = () =>
  asOwner(bench.app.databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('select id from projects order by id');
    return rows.map(({ id }) => id);
  });

test('a disconnected project without records is forgotten after thirty days, one with backups is not', async () => {
  await bench.backUp();
  const [gone, connected] = [await connect('gone'), await connect('stays')];
  await disconnect(gone);
  await disconnect(bench.shop.projectId);
  const forget = () => bench.app.tasks.runNow('disconnected projects');
  await bench.inDays(29, forget);
  expect(await kept()).toEqual([bench.shop.projectId, gone, connected]);
  await bench.inDays(31, forget);
  expect(await kept()).toEqual([bench.shop.projectId, connected]);
});
