import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { addMember } from '../../testing/team.ts';

let bench: BackupBench;
let backupId = '';
let scheduleId = '';
beforeAll(async () => {
  bench = await startBackupBench({}, { listenMode: 'as-production', listenHeartbeatMs: 100 });
  await bench.startOver();
  backupId = await bench.backUp();
  const schedule = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false };
  scheduleId = (await owner('POST', '/schedules', schedule)).body.data.id;
  expect((await owner('POST', `${project()}/pitr/enable`, { retentionDays: 30 })).status).toBe(200);
});
afterAll(() => bench.close());

interface Caller {
  token: string;
  organizationId?: string;
}
const callAs = (as: Caller, method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...as, ...(body ? { body } : {}) });
const owner = (method: string, path: string, body?: object) => callAs(bench.as, method, path, body);
const project = () => `/projects/${bench.shop.projectId}`;

async function keyWith(permissions: string[]): Promise<Caller> {
  await owner('DELETE', '/organizations/current/service-account');
  const account = await owner('POST', '/organizations/current/service-account', { name: 'CI', permissions });
  return { token: account.body.data.apiKey };
}

const doors = (): [method: string, path: string, body?: object][] => [
  ['DELETE', `/backups/${backupId}`],
  ['DELETE', `${project()}?deleteBackups=true`],
  ['DELETE', project()],
  ['DELETE', `/schedules/${scheduleId}?deleteBackups=true`],
  ['POST', `${project()}/pitr/disable`, { deleteLog: true }],
];

/** All is there as it was. */
async function expectUntouched(): Promise<void> {
  expect((await owner('GET', `/backups/${backupId}`)).status).toBe(200);
  expect((await owner('GET', `/schedules/${scheduleId}`)).status).toBe(200);
  expect((await owner('GET', `${project()}/pitr`)).body.data).toMatchObject({ retentionDays: 30 });
}

test('a key without backups:delete deletes neither backups nor what was captured, by no door', async () => {
  const scopes = ['projects:write', 'schedules:write', 'storage:write', 'organization:write', 'backups:create'];
  const key = await keyWith(scopes);
  for (const [method, path, body] of doors()) {
    const { status, body: answer } = await callAs(key, method, path, body);
    expect([status, answer.error?.details], `${method} ${path}`).toEqual([403, { requiredScope: 'backups:delete' }]);
  }
  await expectUntouched();
});

test('a member deletes neither backups nor what was captured, by no door', async () => {
  const member = await addMember(bench.app, bench.as.organizationId, 'member');
  const as = { token: member.token, organizationId: bench.as.organizationId };
  for (const [method, path, body] of doors()) {
    const { status, body: answer } = await callAs(as, method, path, body);
    const details = { requiredRole: 'admin', currentRole: 'member' };
    expect([status, answer.error?.details], `${method} ${path}`).toEqual([403, details]);
  }
  await expectUntouched();
});

test('a member switches off and on, keeps what was captured as long as before, and longer, but not shorter', async () => {
  const member = await addMember(bench.app, bench.as.organizationId, 'member');
  const as = { token: member.token, organizationId: bench.as.organizationId };
  const off = () => callAs(as, 'POST', `${project()}/pitr/disable`);
  const on = (body?: object) => callAs(as, 'POST', `${project()}/pitr/enable`, body);
  expect((await off()).status).toBe(200);
  const shorter = await on({ retentionDays: 29 });
  expect(shorter.body.error).toMatchObject({ code: 'PERMISSION_DENIED', details: { requiredRole: 'admin' } });
  expect(shorter.body.error.message).toContain('29 instead of 30 days');
  expect((await on()).body.data).toMatchObject({ enabled: true, retentionDays: 30 });
  await off();
  expect((await on({ retentionDays: 31 })).body.data).toMatchObject({ enabled: true, retentionDays: 31 });
  await off();
  const byOwner = await owner('POST', `${project()}/pitr/enable`, { retentionDays: 30 });
  expect(byOwner.body.data).toMatchObject({ enabled: true, retentionDays: 30 });
});

test('an organization with a backup under legal hold is deleted neither at once nor in thirty days', async () => {
  const { name } = (await owner('GET', '/organizations/current')).body.data;
  expect((await owner('POST', `/backups/${backupId}/hold`)).status).toBe(200);
  for (const force of [true, false]) {
    const refused = await owner('POST', '/organizations/current/delete', { confirmName: name, force });
    expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'INVALID_STATE']);
    expect(refused.body.error.message).toContain(`${backupId} is under legal hold`);
  }
  expect((await owner('GET', `/backups/${backupId}`)).status).toBe(200);
  expect((await owner('DELETE', `/backups/${backupId}/hold`)).status).toBe(200);
});

test('a key with projects:write and backups:delete deletes a project with all that is kept of it', {
  tags: 'long',
}, async () => {
  const isEnded = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';
  await expect.poll(async () => (await bench.get('/backups?limit=200')).every(isEnded)).toBe(true);
  const key = await keyWith(['projects:write', 'backups:delete']);
  const gone = await callAs(key, 'DELETE', `${project()}?deleteBackups=true`);
  expect(gone.status, gone.text).toBe(200);
  expect((await owner('GET', `/backups/${backupId}`)).status).toBe(404);
});
