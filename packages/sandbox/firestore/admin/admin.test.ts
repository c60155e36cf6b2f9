import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FirestoreSandbox, startFirestoreSandbox } from '../server.ts';
import { fields, ManualClock, name, query, set, timeOf } from '../testing/fixtures.ts';
import { RawClient } from '../testing/raw-client.ts';
import { hour } from '../values/timestamp.ts';

let sandbox: FirestoreSandbox;
let client: RawClient;
const clock = new ManualClock();

beforeAll(async () => {
  sandbox = await startFirestoreSandbox({ clock, controlPort: 0 });
  client = new RawClient(sandbox.port);
  sandbox.control.createDatabase({ project: 'demo', database: 'second' });
});

afterAll(async () => {
  client.close();
  await sandbox.stop();
});

async function rest(path: string, method = 'GET'): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`http://${sandbox.address}${path}`, {
    method,
    headers: { authorization: 'Bearer owner' },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function control(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${sandbox.controlPort}${path}`, {
    method,
    body: JSON.stringify(body) ?? null,
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

test('gRPC lists databases and tells how far back each can be read', async () => {
  const { databases } = await client.unary('ListDatabases', { parent: 'projects/demo' });
  expect(databases.map((each: { name: string }) => each.name).sort()).toEqual([
    'projects/demo/databases/(default)',
    'projects/demo/databases/second',
  ]);
  clock.micros += 5 * hour;
  const before = await client.unary('GetDatabase', { name: 'projects/demo/databases/second' });
  expect(timeOf(before.earliestVersionTime)).toBe(clock.micros - hour);
  expect(before.pointInTimeRecoveryEnablement).toBe(2);
  sandbox.control.setPointInTimeRecovery({ project: 'demo', database: 'second' }, true);
  clock.micros += 5 * hour;
  const after = await client.unary('GetDatabase', { name: 'projects/demo/databases/second' });
  expect(after.pointInTimeRecoveryEnablement).toBe(1);
  expect(timeOf(after.earliestVersionTime)).toBe(clock.micros - 6 * hour);
});

test('REST on the same port says the same', async () => {
  const { body } = await rest('/v1/projects/demo/databases/(default)');
  expect(body).toMatchObject({
    name: 'projects/demo/databases/(default)',
    type: 'FIRESTORE_NATIVE',
    pointInTimeRecoveryEnablement: 'POINT_IN_TIME_RECOVERY_DISABLED',
    versionRetentionPeriod: '3600s',
  });
  const list = await rest('/v1/projects/demo/databases');
  expect(list.body.databases).toHaveLength(2);
  expect((await rest('/v1/elsewhere')).status).toBe(404);
});

test('REST answers 403 and 401 like Google’s', async () => {
  sandbox.control.deny({ project: 'demo', access: 'admin' });
  const denied = await rest('/v1/projects/demo/databases');
  expect(denied).toMatchObject({ status: 403, body: { error: { code: 403, status: 'PERMISSION_DENIED' } } });
  sandbox.control.clearAccess();
  sandbox.control.expireToken('owner');
  expect((await rest('/v1/projects/demo/databases')).status).toBe(401);
  sandbox.control.clearAccess();
});

test('a database is cleared over REST as with the official emulator', async () => {
  await set(client, 'a/1', fields({ n: 1 }));
  await rest('/emulator/v1/projects/demo/databases/(default)/documents', 'DELETE');
  expect(await query(client, { from: [{ collectionId: 'a' }] })).toEqual([]);
});

test('the control API over HTTP does the same as the object', async () => {
  await control('POST', '/faults', { method: 'Commit', status: 'ABORTED', times: 1 });
  await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow('ABORTED');
  expect(await control('GET', '/faults')).toEqual({ hits: [1] });
  await control('DELETE', '/faults');
  await control('PATCH', '/databases/demo/(default)', { pointInTimeRecovery: true, moveClockMs: 1000 });
  expect(sandbox.control.database(name).pointInTimeRecovery).toBe(true);
  await control('POST', '/databases/sample/(default)', { documents: 200, seed: 3 });
  expect(sandbox.control.database({ project: 'sample', database: '(default)' }).documentCount).toBe(200);
  expect(await control('GET', '/counters')).toHaveProperty('reads');
  await control('DELETE', '/databases/sample/(default)');
  expect(sandbox.control.database({ project: 'sample', database: '(default)' }).documentCount).toBe(0);
  const wrong = await fetch(`http://127.0.0.1:${sandbox.controlPort}/faults`, {
    method: 'POST',
    body: '{"status":"NOPE"}',
  });
  expect(wrong.status).toBe(400);
});
