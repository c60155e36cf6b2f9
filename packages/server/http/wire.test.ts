import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });

test('a created thing has an address, a running one a place to watch it, and ids have the prefix of their kind', async () => {
  const { projectId } = bench.shop;
  const backup = await bench.backUp();
  const cases: [string, object | undefined, number, RegExp][] = [
    ['/organizations', { name: 'Another' }, 201, /organizations\/current$/],
    // It has no address of its own.
    ['/organizations/current/invites', { email: 'guest@example.com' }, 201, /^$/],
    ['/webhooks', { name: 'H', url: 'https://example.com', events: ['*'] }, 201, /\/webhooks\/whk_/],
    ['/storage-destinations', { name: 'D', type: 'local', path: 'd' }, 201, /\/storage-destinations\/dst_/],
    ['/schedules', { projectId, name: 'S', cron: '0 2 * * *', enabled: false }, 201, /\/schedules\/sch_/],
    ['/backups', { projectId }, 202, /\/backups\/bkp_/],
    ['/backups/restore', { backupId: backup, options: { dryRun: true } }, 202, /\/backups\/restore\/rst_/],
    [`/backups/${backup}/verify`, undefined, 202, /\/backups\/bkp_/],
    [`/backups/${backup}/drill`, undefined, 202, /drills/],
  ];
  for (const [path, body, status, place] of cases) {
    const answer = await call('POST', path, body);
    expect([path, answer.status], answer.text).toEqual([path, status]);
    expect(answer.headers.get('location') ?? '', path).toMatch(place);
    expect(answer.body.success).toBe(true);
    if (answer.body.data.id) expect(answer.body.data.id).toMatch(/^[a-z]+_[0-9A-Za-z]{20,}$/);
  }
});

test('without a default destination a backup says which field is missing', async () => {
  const settings = (defaultStorageId: string | null) =>
    call('PUT', '/organizations/current', { settings: { defaultStorageId } });
  expect((await settings(null)).status).toBe(200);
  for (const dryRun of [false, true]) {
    const { status, body } = await call('POST', '/backups', { projectId: bench.shop.projectId, dryRun });
    expect([status, body.error.code, body.error.details.field]).toEqual([
      400,
      'VALIDATION_ERROR',
      'storageDestinationId',
    ]);
  }
  expect((await settings(bench.shop.destinationId)).status).toBe(200);
});

test('an unknown field of a query is ignored, and one of a body is named', async () => {
  expect((await call('GET', '/backups?colour=blue&limit=1')).status).toBe(200);
  const { status, body } = await call('POST', '/backups', { projectId: bench.shop.projectId, colour: 'blue' });
  expect([status, body.error]).toMatchObject([
    400,
    { code: 'VALIDATION_ERROR', details: { field: 'colour', reason: 'is not a known field' } },
  ]);
});

test('every kind of thing that does not exist has its own code', { tags: 'long' }, async () => {
  const { destinationId } = bench.shop;
  const hook = (await call('POST', '/webhooks', { name: 'H', url: 'https://example.com', events: ['*'] })).body.data.id;
  const backupId = await bench.backUp();
  const cases: [string, string, string][] = [
    ['GET', '/projects/prj_x', 'PROJECT_NOT_FOUND'],
    ['GET', '/storage-destinations/dst_x', 'STORAGE_DESTINATION_NOT_FOUND'],
    ['GET', '/backups/bkp_x', 'BACKUP_NOT_FOUND'],
    ['GET', '/backups/restore/rst_x', 'RESTORE_NOT_FOUND'],
    ['GET', '/schedules/sch_x', 'SCHEDULE_NOT_FOUND'],
    ['GET', '/webhooks/whk_x', 'WEBHOOK_NOT_FOUND'],
    ['POST', `/webhooks/${hook}/deliveries/dlv_x/retry`, 'DELIVERY_NOT_FOUND'],
    ['DELETE', '/organizations/current/members/usr_x', 'MEMBER_NOT_FOUND'],
    ['DELETE', '/organizations/current/invites/inv_x', 'INVITATION_NOT_FOUND'],
    ['GET', '/organizations/current/service-account', 'SERVICE_ACCOUNT_NOT_FOUND'],
    ['GET', `/backups/${backupId}/documents/users/nobody`, 'DOCUMENT_NOT_FOUND'],
    ['GET', `/backups/${backupId}/export?collection=nowhere`, 'COLLECTION_NOT_FOUND'],
    ['GET', `/backups/${backupId}/diff?collection=nowhere`, 'COLLECTION_NOT_FOUND'],
    ['GET', `/storage-destinations/${destinationId}/nothing`, 'NOT_FOUND'],
  ];
  for (const [method, path, code] of cases) {
    const { status, body } = await call(method, path);
    expect([path, status, body.error?.code]).toEqual([path, 404, code]);
    expect(body.error.message).toMatch(/^[A-Z].*\.$/);
  }
  const nobody = await bench.app.request('GET', '/api/v1/backups');
  expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer/)]);
});
