import { allowedEvents, type EventName, events, standardEnvelope } from '@holdfast/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { hasty } from '../../testing/backup-bench.ts';
import { startMailServer, type TestMailServer } from '../../testing/mail-server.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { reachesReceiver, startWebhookReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts';

let app: TestApp;
let shop: ProtectedProject;
let receiver: WebhookReceiver;
let mails: TestMailServer;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  [receiver, mails] = await Promise.all([startWebhookReceiver(), startMailServer()]);
  const environment = { ...hasty, ...reachesReceiver.environment, SMTP_URL: mails.url };
  app = await startTestApp(environment, reachesReceiver.overrides);
  shop = await protectProject(app);
  as = { token: shop.owner.token, organizationId: shop.organizationId };
  shop.firestore.control.database({ project: 'shop', database: '(default)' });
  for (const format of ['standard', 'simple'])
    await call('POST', '/webhooks', { name: format, url: `${receiver.address}/${format}`, events: ['*'], format });
});
afterAll(async () => {
  await app.close();
  await Promise.all([receiver.close(), mails.close(), shop.close()]);
});
beforeEach(() => shop.firestore.control.clearFaults());

const patience = { timeout: 60_000, interval: 100 };
const minuteMs = 60_000;
async function call(method: string, path: string, body?: object, token = as.token) {
  const answer = await app.request(method, `/api/v1${path}`, { ...as, token, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body.data;
}
const create = (body: object = {}) =>
  call('POST', '/schedules', { projectId: shop.projectId, name: 'Hourly', cron: '0 * * * *', ...body });
const runsOf = (id: string) => call('GET', `/schedules/${id}/runs`);
async function becomeDue(id: string, lateMs = 1000): Promise<string> {
  const { nextRunAt } = await call('GET', `/schedules/${id}`);
  app.clock.advance(Date.parse(nextRunAt) - app.clock.now().getTime() + lateMs);
  await app.tasks.runNow('schedules');
  return nextRunAt;
}
/** Runs once by hand, and answers with the backup as it ended. */
async function runOnce(id: string, token?: string) {
  const started = await call('POST', `/schedules/${id}/run`, undefined, token);
  return untilEnded(app, `/api/v1/backups/${started.id}`, as);
}
const sent = (path: string) => receiver.to(path).map(({ body }) => JSON.parse(body));
const standardOf = (type: EventName) => sent('/standard').filter((body) => body.type === type);

describe('what a schedule does is sent', () => {
  test('in both formats as their schemas say, and the events of its backups name it', { tags: 'long' }, async () => {
    const schedule = await create();
    await call('PATCH', `/schedules/${schedule.id}`, { name: 'Every hour' });
    const dueAt = await becomeDue(schedule.id);
    await expect.poll(async () => (await runsOf(schedule.id))[0]?.status, patience).toBe('completed');
    const [run] = await runsOf(schedule.id);
    await becomeDue(schedule.id, 3 * 60 * minuteMs);
    await expect.poll(async () => (await runsOf(schedule.id))[0]?.status, patience).toBe('completed');
    await call('DELETE', `/schedules/${schedule.id}`);
    const names = ['created', 'updated', 'triggered', 'failed', 'deleted'].map(
      (verb) => `schedule.${verb}` as EventName,
    );
    for (const name of names) {
      await expect.poll(() => standardOf(name).length, patience).toBeGreaterThan(0);
      for (const body of standardOf(name)) {
        expect(standardEnvelope.parse(body)).toEqual(body);
        expect(events[name].formats.standard?.data.parse(body.data)).toEqual(body.data);
        expect(body.data).toMatchObject({ schedule: { id: schedule.id }, project: { id: shop.projectId } });
      }
    }
    expect(standardOf('schedule.triggered')[0].data.backupId).toBe(run.backupId);
    expect(standardOf('schedule.failed')[0].data).toMatchObject({ reason: expect.any(String) });
    for (const name of allowedEvents('simple').filter((name) => name.startsWith('schedule.'))) {
      const found = () => sent('/simple').filter((body) => body.event === name);
      await expect.poll(() => found().length, patience).toBeGreaterThan(0);
      for (const body of found()) expect(events[name].formats.simple?.data.parse(body.data)).toEqual(body.data);
    }
    const ofRun = sent('/standard').filter((body) => body.data.backup?.id === run.backupId);
    expect(ofRun.map(({ type }) => type)).toContain('backup.completed');
    for (const { metadata } of ofRun) expect(metadata).toMatchObject({ trigger: 'scheduled', scheduleId: schedule.id });
    const simple = sent('/simple').find(
      (body) => body.event === 'backup.completed' && body.data.backupId === run.backupId,
    );
    expect(simple.data).toMatchObject({ triggeredBy: 'scheduled', scheduleId: schedule.id });
    expect(dueAt).toBe(run.dueAt);
  });

  test('only for real changes: an empty change, or one to the same value, makes no event and no audit entry', async () => {
    const schedule = await create({ retentionPolicy: { last: 3, daily: 7 }, enabled: false });
    const path = `/schedules/${schedule.id}`;
    for (const change of [{}, { name: schedule.name, retentionPolicy: { daily: 7, last: 3 }, drillEvery: null }])
      expect(await call('PATCH', path, change)).toEqual(schedule);
    expect((await call('PATCH', path, { retentionPolicy: { last: 3 } })).updatedAt).not.toBe(schedule.updatedAt);
    await call('DELETE', path);
    const told = () => sent('/standard').filter((body) => body.data.schedule?.id === schedule.id);
    await expect.poll(() => told().map(({ type }) => type), patience).toContain('schedule.deleted');
    await expect.poll(() => told().length, patience).toBe(3);
    const notes = await call('GET', `/audit-logs?resourceId=${schedule.id}&action=schedule.updated`);
    expect(notes.map(({ details }: { details: object }) => details)).toEqual([
      { name: schedule.name, projectId: schedule.projectId, fields: ['retentionPolicy'], enabled: false },
    ]);
  });

  test('when it is run by hand, too, and says that nobody waited for the clock', async () => {
    const schedule = await create({ enabled: false });
    const backup = await runOnce(schedule.id);
    const told = () => standardOf('schedule.triggered').filter(({ data }) => data.schedule.id === schedule.id);
    await expect.poll(() => told().length, patience).toBe(1);
    const [{ data, metadata }] = told();
    expect(events['schedule.triggered'].formats.standard?.data.parse(data)).toEqual(data);
    expect(data).toMatchObject({ backupId: backup.id, schedule: { id: schedule.id, enabled: false } });
    expect(metadata).toMatchObject({ trigger: 'manual', scheduleId: schedule.id });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('a backup that no schedule asked for says so with null', async () => {
    const { id } = await call('POST', '/backups', { projectId: shop.projectId });
    await untilEnded(app, `/api/v1/backups/${id}`, as);
    const ofBackup = () => sent('/standard').filter((body) => body.data.backup?.id === id);
    await expect.poll(() => ofBackup().map(({ type }) => type), patience).toContain('backup.completed');
    for (const { metadata } of ofBackup()) expect(metadata).toMatchObject({ trigger: 'manual', scheduleId: null });
  });

  test('events of a backup say what its record says: milliseconds in one format, seconds in the other', async () => {
    const { id } = await call('POST', '/backups', { projectId: shop.projectId });
    const record = await untilEnded(app, `/api/v1/backups/${id}`, as);
    const told = (type: string) => sent('/standard').find((body) => body.type === type && body.data.backup.id === id);
    const simple = (event: string) => sent('/simple').find((body) => body.event === event && body.data.backupId === id);
    await expect.poll(() => [told('backup.completed'), simple('backup.completed')], patience).not.toContain(undefined);
    const { backup, project, organization } = told('backup.completed').data;
    const same = ['id', 'projectId', 'type', 'status', 'size', 'sizeFormatted', 'duration', 'durationFormatted'].concat(
      ['storageDestination', 'collections', 'documentCount', 'createdAt', 'completedAt'],
    );
    expect(backup).toEqual(Object.fromEntries(same.map((field) => [field, record[field]])));
    expect(project).toEqual({ id: shop.projectId, name: 'Shop', sourceProjectId: 'shop' });
    expect(organization).toMatchObject({ id: as.organizationId });
    for (const unknown of ['size', 'sizeFormatted', 'duration', 'documentCount', 'completedAt'])
      expect(told('backup.started').data.backup).not.toHaveProperty(unknown);
    expect(simple('backup.completed').data).toEqual({
      backupId: id,
      projectId: shop.projectId,
      projectName: 'Shop',
      type: 'full',
      status: 'completed',
      documentsCount: record.documentCount,
      collectionsCount: expect.any(Number),
      originalSize: record.size,
      compressedSize: record.compressedSize,
      duration: record.duration / 1000,
      triggeredBy: 'manual',
      scheduleId: null,
      createdAt: record.createdAt,
      completedAt: record.completedAt,
    });
    expect(simple('backup.started').data).toMatchObject({
      documentsCount: null,
      collectionsCount: null,
      originalSize: null,
      compressedSize: null,
      duration: null,
      completedAt: null,
    });
  });
});

describe('a run by hand', () => {
  test('with an API key is told as one of the API, and needs schedules:write', async () => {
    const schedule = await create({ enabled: false });
    const account = { name: 'CI', permissions: ['schedules:write', 'backups:read'] };
    const { apiKey } = await call('POST', '/organizations/current/service-account', account);
    expect(await runOnce(schedule.id, apiKey)).toMatchObject({ trigger: 'api', scheduleId: schedule.id });
    await call('DELETE', '/organizations/current/service-account');
    const { apiKey: other } = await call('POST', '/organizations/current/service-account', {
      name: 'CI',
      permissions: ['schedules:read', 'backups:write'],
    });
    const refused = await app.request('POST', `/api/v1/schedules/${schedule.id}/run`, { token: other });
    expect(refused.body.error).toMatchObject({ code: 'FORBIDDEN', details: { requiredScope: 'schedules:write' } });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('counts for the rhythm: every second one is verified and drilled', { tags: 'long' }, async () => {
    const schedule = await create({ enabled: false, verifyEvery: 2, drillEvery: 2 });
    const [first, second] = [await runOnce(schedule.id), await runOnce(schedule.id)];
    const verified = async (id: string) => (await call('GET', `/backups/${id}`)).verification?.status ?? null;
    const drilled = async (id: string) => (await call('GET', `/backups/${id}/drills`))[0]?.status ?? null;
    await expect.poll(() => verified(second.id), patience).toBe('passed');
    await expect.poll(() => drilled(second.id), patience).toBe('completed');
    expect([await verified(first.id), await drilled(first.id)]).toEqual([null, null]);
    await call('DELETE', `/schedules/${schedule.id}`);
  });
});

describe('what goes wrong', () => {
  test('a project that refuses us fails with SOURCE_AUTH_ERROR after one look, and is connected again once it lets us in', {
    tags: 'long',
  }, async () => {
    const schedule = await create({ enabled: false });
    shop.firestore.control.addFault({ status: 'PERMISSION_DENIED', times: 1000 });
    expect((await runOnce(schedule.id)).error).toMatchObject({ code: 'SOURCE_AUTH_ERROR' });
    const connection = async () => (await call('GET', `/projects/${shop.projectId}`)).connection;
    expect(await connection()).toMatchObject({ status: 'unauthorized' });
    const again = await runOnce(schedule.id);
    expect(again).toMatchObject({ status: 'failed', error: { code: 'SOURCE_AUTH_ERROR' }, readsUsed: 0 });
    expect((await runsOf(schedule.id))[0]).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('PERMISSION'),
    });
    shop.firestore.control.clearFaults();
    expect(await runOnce(schedule.id)).toMatchObject({ status: 'completed' });
    expect(await connection()).toMatchObject({ status: 'connected', error: null });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('without a destination to write to a due time fails, and webhook and mail tell why', async () => {
    onTestFinished(() => call('PUT', '/organizations/current', { settings: { defaultStorageId: shop.destinationId } }));
    const settings = {
      defaultStorageId: null,
      notifications: { emails: ['ops@example.com'], events: ['schedule.failed'] },
    };
    await call('PUT', '/organizations/current', { settings });
    const before = standardOf('schedule.failed').length;
    const schedule = await create();
    const dueAt = await becomeDue(schedule.id);
    // The periodic task may have taken the due time a moment before this test did.
    await expect.poll(() => runsOf(schedule.id), patience).toHaveLength(1);
    const [run] = await runsOf(schedule.id);
    expect(run).toMatchObject({
      dueAt,
      status: 'failed',
      backupId: null,
      reason: expect.stringContaining('destination'),
    });
    await expect.poll(() => standardOf('schedule.failed').length, patience).toBe(before + 1);
    expect(standardOf('schedule.failed').at(-1).data).toMatchObject({ expectedAt: dueAt, reason: run.reason });
    await expect
      .poll(async () => {
        app.clock.advance(6 * minuteMs);
        await app.tasks.runNow('notifications');
        return mails.received.map(({ readable }) => readable.replace(/\s+/g, ' ')).join('\n');
      }, patience)
      .toContain('There is no storage destination to write to');
    const text =
      mails.received
        .at(-1)
        ?.readable.replace(/=\r?\n/g, '')
        .replace(/\s+/g, ' ') ?? '';
    expect(text).toContain(`/schedules/${schedule.id}`);
    expect(text).toMatch(/What you can do:.*destination/);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('with skip nothing is made up for after an outage, and each due time is told', async () => {
    const schedule = await create({ catchUp: 'skip' });
    await becomeDue(schedule.id, 2 * 60 * minuteMs + 30 * minuteMs);
    const runs = await runsOf(schedule.id);
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(['missed', 'missed', 'missed']);
    expect(Date.parse((await call('GET', `/schedules/${schedule.id}`)).nextRunAt)).toBeGreaterThan(
      app.clock.now().getTime(),
    );
    await call('DELETE', `/schedules/${schedule.id}`);
  });
});

test('runs come page by page, newest first, and are kept for ninety days', async () => {
  const schedule = await create({ enabled: false });
  for (let count = 0; count < 3; count++) await runOnce(schedule.id);
  const path = `/api/v1/schedules/${schedule.id}/runs?limit=2`;
  const first = await app.request('GET', path, as);
  expect([first.body.data.length, first.body.pagination.hasMore]).toEqual([2, true]);
  const rest = await app.request('GET', `${path}&cursor=${first.body.pagination.nextCursor}`, as);
  const shown = [...first.body.data, ...rest.body.data];
  expect(shown.map(({ id }) => id)).toEqual((await runsOf(schedule.id)).map(({ id }: { id: string }) => id));
  const days = (count: number) => count * 24 * 60 * minuteMs;
  app.clock.advance(days(89));
  await app.tasks.runNow('schedule runs');
  app.clock.advance(-days(89));
  expect(await runsOf(schedule.id)).toHaveLength(3);
  app.clock.advance(days(91));
  await app.tasks.runNow('schedule runs');
  app.clock.advance(-days(91));
  expect(await runsOf(schedule.id)).toEqual([]);
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('the tag of a schedule follows its last run, that of a backup what becomes of it', async () => {
  const schedule = await create({ enabled: false });
  const tagOf = async (path: string) => {
    const answer = await app.request('GET', `/api/v1${path}`, as);
    return [answer.headers.get('etag'), answer.text];
  };
  const changes = async (path: string, change: () => Promise<unknown>) => {
    const before = await tagOf(path);
    await change();
    const after = await tagOf(path);
    expect(after[1]).not.toBe(before[1]);
    expect(after[0]).not.toBe(before[0]);
  };
  let backupId = '';
  await changes(`/schedules/${schedule.id}`, async () => {
    backupId = (await runOnce(schedule.id)).id;
  });
  const path = `/backups/${backupId}`;
  await changes(path, () => call('POST', `${path}/hold`));
  await changes(path, () => call('DELETE', `${path}/hold`));
  await changes(path, async () => {
    await call('POST', `${path}/verify`);
    await expect.poll(async () => (await call('GET', path)).verification?.status, patience).toBe('passed');
  });
  await changes(`/projects/${shop.projectId}`, () => runOnce(schedule.id));
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('a due time that is unclaimed when its schedule changes still runs, and only later ones follow the new time', async () => {
  const schedule = await create();
  app.clock.advance(Date.parse(schedule.nextRunAt) - app.clock.now().getTime() + 200);
  const changed = await call('PATCH', `/schedules/${schedule.id}`, { cron: '30 * * * *' });
  expect(changed.lastRun).toMatchObject({ dueAt: schedule.nextRunAt, status: 'triggered' });
  expect(new Date(changed.nextRunAt).getUTCMinutes()).toBe(30);
  await app.tasks.runNow('schedules');
  await expect.poll(async () => (await runsOf(schedule.id))[0]?.status, patience).toBe('completed');
  expect((await runsOf(schedule.id)).map(({ dueAt }: { dueAt: string }) => dueAt)).toEqual([schedule.nextRunAt]);
  await call('DELETE', `/schedules/${schedule.id}`);
});
