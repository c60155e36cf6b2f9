import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';
import { protectProject, untilEnded } from '../../testing/protected-project.ts';
import { addMember } from '../../testing/team.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, ACCESS_TOKEN_TTL: '86400' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());
beforeEach(() => bench.sandbox.control.clearFaults());

const minuteMs = 60_000;
const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, headers, ...(body ? { body } : {}) });
async function create(body: object = {}) {
  const request = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', ...body };
  const created = await call('POST', '/schedules', request);
  expect(created.status, created.text).toBe(201);
  return created.body.data;
}
const eventsOf = (scheduleId: string) =>
  asOwner(bench.app.databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select type, payload from outbox_events
        where payload->'data'->'schedule'->>'id' = $1 order by position`,
      [scheduleId],
    );
    return rows as { type: string; payload: { data: Record<string, unknown>; simple?: Record<string, unknown> } }[];
  });
/** Moves the clock to just after the next due time. */
async function becomeDue(scheduleId: string, lateMs = 1000) {
  const { nextRunAt } = await bench.get(`/schedules/${scheduleId}`);
  bench.app.clock.advance(Date.parse(nextRunAt) - bench.app.clock.now().getTime() + lateMs);
  return nextRunAt as string;
}
const runsOf = (scheduleId: string) => bench.get(`/schedules/${scheduleId}/runs`);

describe('the record', () => {
  test('has every field, with its defaults, and stands in the list', async () => {
    const created = await call('POST', '/schedules', {
      projectId: bench.shop.projectId,
      name: 'Nightly',
      cron: '30 2 * * *',
    });
    expect(created.status, created.text).toBe(201);
    const schedule = created.body.data;
    expect(created.headers.get('location')).toBe(`/api/v1/schedules/${schedule.id}`);
    expect(schedule).toMatchObject({
      cron: '30 2 * * *',
      cronExpression: '30 2 * * *',
      timezone: 'UTC',
      enabled: true,
      type: 'full',
      fullEvery: null,
      collections: ['*'],
      excludeCollections: [],
      includeSubcollections: true,
      storageDestinationIds: [],
      retention: null,
      retentionPolicy: null,
      catchUp: 'latest',
      missedAfterMinutes: 15,
      drillEvery: null,
      verifyEvery: null,
      lastRun: null,
      createdBy: { id: bench.shop.owner.id, email: bench.shop.owner.email },
    });
    expect(schedule.nextRunAt).toMatch(/T02:30:00\.000Z$/);
    expect(Date.parse(schedule.nextRunAt)).toBeGreaterThan(bench.app.clock.now().getTime());
    const listed = await bench.get(`/schedules?projectId=${bench.shop.projectId}&enabled=true`);
    expect(listed.map(({ id }: { id: string }) => id)).toContain(schedule.id);
    expect(await bench.get('/schedules?enabled=false')).toEqual([]);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('takes the time zone of the organization, and 7 for incremental backups', async () => {
    await call('PUT', '/organizations/current', { settings: { timezone: 'Europe/Berlin' } });
    const schedule = await create({ type: 'incremental' });
    expect(schedule).toMatchObject({ timezone: 'Europe/Berlin', type: 'incremental', fullEvery: 7 });
    await call('PUT', '/organizations/current', { settings: { timezone: 'UTC' } });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('takes an expression with blanks around its fields, as a crontab does', async () => {
    expect(await create({ cron: ' 30\t2  * * *\n' })).toMatchObject({
      cron: '30 2 * * *',
      cronExpression: '30 2 * * *',
    });
  });

  test('keeps a rhythm of full backups that it has no use for yet', async () => {
    const schedule = await create({ type: 'full', fullEvery: 3, enabled: false });
    expect(schedule).toMatchObject({ type: 'full', fullEvery: 3 });
    const change = async (body: object) => (await call('PATCH', `/schedules/${schedule.id}`, body)).body.data;
    expect(await change({ type: 'incremental' })).toMatchObject({ type: 'incremental', fullEvery: 3 });
    expect(await change({ fullEvery: null })).toMatchObject({ fullEvery: 7 });
    expect(await change({ type: 'full', fullEvery: null })).toMatchObject({ type: 'full', fullEvery: null });
    expect(await change({ name: 'renamed' })).toMatchObject({ fullEvery: null });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test.each([
    [{ cron: '0 2 * * L' }, 'cron'],
    [{ cron: '0 2 30 2 *' }, 'cron'],
    [{ cron: '61 2 * * *' }, 'cron'],
    [{ cron: '@daily' }, 'cron'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ retention: 0 }, 'retention'],
    [{ retention: 7, retentionPolicy: { last: 3 } }, 'retentionPolicy'],
    [{ retentionPolicy: {} }, 'retentionPolicy'],
    [{ unknown: true }, 'unknown'],
  ])('refuses %j', async (body, field) => {
    const answer = await call('POST', '/schedules', {
      projectId: bench.shop.projectId,
      name: 'x',
      cron: '0 2 * * *',
      ...body,
    });
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field } });
  });

  test('refuses a project and a destination that are not there', async () => {
    const base = { projectId: bench.shop.projectId, name: 'x', cron: '0 2 * * *' };
    expect((await call('POST', '/schedules', { ...base, projectId: 'prj_nope' })).body.error.code).toBe(
      'PROJECT_NOT_FOUND',
    );
    expect((await call('POST', '/schedules', { ...base, storageDestinationId: 'dst_nope' })).body.error.code).toBe(
      'STORAGE_DESTINATION_NOT_FOUND',
    );
    expect((await call('GET', '/schedules/sch_nope')).body.error.code).toBe('SCHEDULE_NOT_FOUND');
  });

  test('changes where it is told to, by those who may, and tells so in both formats', async () => {
    const schedule = await create({ retention: 7 });
    const viewer = await addMember(bench.app, bench.shop.organizationId, 'viewer');
    const path = `/api/v1/schedules/${schedule.id}`;
    const refused = await bench.app.request('PATCH', path, {
      token: viewer.token,
      organizationId: bench.shop.organizationId,
      body: { enabled: false },
    });
    expect(refused.body.error).toMatchObject({ code: 'PERMISSION_DENIED', details: { requiredRole: 'member' } });
    const read = await call('GET', `/schedules/${schedule.id}`);
    const stale = await call('PATCH', `/schedules/${schedule.id}`, { enabled: false }, { 'if-match': '"old"' });
    expect(stale.status).toBe(412);
    const match = { 'if-match': read.headers.get('etag') ?? '' };
    const changed = await call('PATCH', `/schedules/${schedule.id}`, { enabled: false }, match);
    expect(changed.body.data).toMatchObject({ enabled: false, nextRunAt: null, retention: 7 });
    const policy = { retentionPolicy: { daily: 3 } };
    const again = await call('PATCH', `/schedules/${schedule.id}`, { ...policy, enabled: true, cron: '0 4 * * *' });
    expect(again.body.data).toMatchObject({ retention: null, retentionPolicy: { daily: 3 }, enabled: true });
    expect(again.body.data.nextRunAt).toMatch(/T04:00/);
    expect((await call('DELETE', `/schedules/${schedule.id}`)).status).toBe(200);
    expect((await call('GET', `/schedules/${schedule.id}`)).status).toBe(404);
    const events = await eventsOf(schedule.id);
    expect(events.map(({ type }) => type)).toEqual([
      'schedule.created',
      'schedule.updated',
      'schedule.updated',
      'schedule.deleted',
    ]);
    expect(events[0]!.payload.simple).toMatchObject({
      scheduleId: schedule.id,
      cronExpression: '0 2 * * *',
      projectName: 'Shop',
      createdBy: { id: bench.shop.owner.id },
    });
    expect(events[1]!.payload.data).toMatchObject({ schedule: { enabled: false, nextRunAt: null } });
  });
});

test('a schedule cannot exclude what a backup cannot exclude, neither when created nor when changed', async () => {
  const base = { projectId: bench.shop.projectId, name: 'Parts', cron: '0 2 * * *' };
  const refused = await call('POST', '/schedules', { ...base, collections: ['u'], excludeCollections: ['u'] });
  expect([refused.status, refused.body.error?.details?.field]).toEqual([400, 'excludeCollections']);
  const everything = await call('POST', '/schedules', { ...base, excludeCollections: ['logs', '*'] });
  expect([everything.status, everything.body.error?.details?.field]).toEqual([400, 'excludeCollections']);
  const { id } = (await call('POST', '/schedules', { ...base, excludeCollections: ['logs'] })).body.data;
  expect((await call('PATCH', `/schedules/${id}`, { collections: ['u'] })).status).toBe(400);
  const both = await call('PATCH', `/schedules/${id}`, { collections: ['u'], excludeCollections: [] });
  expect(both.status, both.text).toBe(200);
  await call('DELETE', `/schedules/${id}`);
});

test('the preview shows the next runs in words, as instants and on the wall', async () => {
  const answer = await call('POST', '/schedules/preview', {
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    count: 200,
  });
  expect(answer.status).toBe(400);
  const { body } = await call('POST', '/schedules/preview', {
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    count: 3,
  });
  expect(body.data).toMatchObject({ timezone: 'Europe/Berlin', description: 'At 02:30' });
  expect(body.data.runs).toHaveLength(3);
  expect(body.data.localRuns[0]).toMatch(/ 02:30$/);
  expect(body.data.runsPerYear).toBe(365);
  const mondays = await call('POST', '/schedules/preview', { cron: '0 9-15 * * 1' });
  expect([52 * 7, 53 * 7]).toContain(mondays.body.data.runsPerYear);
  expect((await call('POST', '/schedules/preview', { cron: '0 2 1 * *' })).body.data.runsPerYear).toBe(12);
  expect((await call('POST', '/schedules/preview', { cron: '0 0 31 2 *' })).status).toBe(400);
});

describe('a due time', () => {
  test('starts one backup that belongs to the schedule, and its run says how it went', async () => {
    const schedule = await create({ cron: '*/5 * * * *', retention: 3 });
    const dueAt = await becomeDue(schedule.id);
    await expect.poll(async () => (await runsOf(schedule.id)).length).toBe(1);
    await expect.poll(async () => (await runsOf(schedule.id))[0].status).toBe('completed');
    const [run] = await runsOf(schedule.id);
    expect(run).toMatchObject({ dueAt, reason: null });
    const backup = await bench.get(`/backups/${run.backupId}`);
    expect(backup).toMatchObject({ trigger: 'scheduled', scheduleId: schedule.id, status: 'completed' });
    expect(Date.parse(backup.expiresAt) - Date.parse(backup.completedAt)).toBe(3 * 86_400_000);
    const shown = await bench.get(`/schedules/${schedule.id}`);
    expect(shown.lastRun).toEqual({ dueAt, status: 'completed', backupId: run.backupId });
    expect(Date.parse(shown.nextRunAt) - Date.parse(dueAt)).toBe(5 * minuteMs);
    const types = (await eventsOf(schedule.id)).map(({ type }) => type);
    expect(types).toEqual(['schedule.created', 'schedule.triggered']);
    const mine = await bench.get(`/backups?scheduleId=${schedule.id}`);
    expect(mine.map(({ id }: { id: string }) => id)).toEqual([run.backupId]);
    await call('DELETE', `/schedules/${schedule.id}`);
    expect((await bench.get(`/backups/${run.backupId}`)).status).toBe('completed');
  });

  test('is skipped with its reason while the backup before it still runs', async () => {
    const schedule = await create({ cron: '*/5 * * * *' });
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 6000 });
    await becomeDue(schedule.id);
    await expect.poll(async () => (await runsOf(schedule.id))[0]?.status).toBe('triggered');
    await becomeDue(schedule.id);
    await expect.poll(async () => (await runsOf(schedule.id)).length).toBe(2);
    const [second, first] = await runsOf(schedule.id);
    expect(second).toMatchObject({ status: 'skipped', backupId: null, startedAt: null });
    expect(second.reason).toContain('still running');
    bench.sandbox.control.clearFaults();
    await untilEnded(bench.app, `/api/v1/backups/${first.backupId}`, bench.as);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('that was missed is told; the newest is made up for', async () => {
    const schedule = await create({ cron: '0 * * * *' });
    const dueAt = await becomeDue(schedule.id, 3 * 60 * minuteMs + 30 * minuteMs);
    await expect.poll(async () => (await runsOf(schedule.id)).length).toBe(4);
    const runs = await runsOf(schedule.id);
    expect(runs.map(({ status }: { status: string }) => status).slice(1)).toEqual(['missed', 'missed', 'missed']);
    expect(runs.at(-1).dueAt).toBe(dueAt);
    await untilEnded(bench.app, `/api/v1/backups/${runs[0].backupId}`, bench.as);
    const events = await eventsOf(schedule.id);
    expect(events.filter(({ type }) => type === 'schedule.failed')).toHaveLength(3);
    expect(events.find(({ type }) => type === 'schedule.failed')!.payload.data).toMatchObject({ expectedAt: dueAt });
    expect(events.filter(({ type }) => type === 'schedule.triggered')).toHaveLength(1);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('comes on time again after a clock that jumped ahead by a year and back', async () => {
    const schedule = await create({ cron: '0 3 * * *', catchUp: 'skip' });
    const yearMs = 365 * 24 * 60 * minuteMs;
    bench.app.clock.advance(yearMs);
    await bench.app.tasks.runNow('schedules');
    bench.app.clock.advance(-yearMs);
    expect(Date.parse((await bench.get(`/schedules/${schedule.id}`)).nextRunAt)).toBeGreaterThan(
      Date.parse(schedule.nextRunAt) + yearMs / 2,
    );
    await bench.app.tasks.runNow('due times far away');
    expect((await bench.get(`/schedules/${schedule.id}`)).nextRunAt).toBe(schedule.nextRunAt);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('enabled anew is counted from then: what lay in the pause is neither run nor missed', async () => {
    const schedule = await create({ cron: '0 * * * *' });
    await call('PATCH', `/schedules/${schedule.id}`, { enabled: false });
    bench.app.clock.advance(3 * 60 * minuteMs);
    const enabled = (await call('PATCH', `/schedules/${schedule.id}`, { enabled: true })).body.data;
    expect(Date.parse(enabled.nextRunAt)).toBeGreaterThan(bench.app.clock.now().getTime());
    await bench.app.tasks.runNow('schedules');
    expect(await runsOf(schedule.id)).toEqual([]);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('does nothing once the schedule is disabled', async () => {
    const schedule = await create({ cron: '*/5 * * * *' });
    const { nextRunAt } = schedule;
    await call('PATCH', `/schedules/${schedule.id}`, { enabled: false });
    bench.app.clock.advance(Date.parse(nextRunAt) - bench.app.clock.now().getTime() + 5000);
    for (let round = 0; round < 2; round++) await bench.app.tasks.runNow('schedules');
    expect(await runsOf(schedule.id)).toEqual([]);
    await call('DELETE', `/schedules/${schedule.id}`);
  });
});

describe('a run by hand', () => {
  test('belongs to the schedule and counts for its rhythm', async () => {
    const schedule = await create({ type: 'incremental', fullEvery: 2, enabled: false });
    const types: string[] = [];
    for (let round = 0; round < 3; round++) {
      const started = await call('POST', `/schedules/${schedule.id}/run`);
      expect(started.status, started.text).toBe(202);
      expect(started.headers.get('location')).toBe(`/api/v1/backups/${started.body.data.id}`);
      expect(started.body.data).toMatchObject({ trigger: 'manual', scheduleId: schedule.id });
      const backup = await untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
      types.push(backup.type);
    }
    expect(types).toEqual(['full', 'incremental', 'full']);
    const runs = await runsOf(schedule.id);
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(['completed', 'completed', 'completed']);
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('makes up for a full one that failed; after two of them an increment has its turn', async () => {
    const schedule = await create({ type: 'incremental', fullEvery: 4, enabled: false });
    const run = async () => {
      const { body } = await call('POST', `/schedules/${schedule.id}/run`);
      const { type, status } = await untilEnded(bench.app, `/api/v1/backups/${body.data.id}`, bench.as);
      return `${type} ${status}`;
    };
    const runs = [await run(), await run(), await run(), await run()];
    expect(runs).toEqual(['full completed', ...Array(3).fill('incremental completed')]);
    bench.sandbox.control.addFault({ status: 'PERMISSION_DENIED' });
    expect([await run(), await run()]).toEqual(['full failed', 'full failed']);
    bench.sandbox.control.clearFaults();
    const rest = [await run(), await run(), await run()];
    expect(rest).toEqual(['incremental completed', 'full completed', 'full completed']);
    await call('DELETE', `/schedules/${schedule.id}`);
  });
});

describe('what happens around a schedule', () => {
  test('a destination that a schedule writes to cannot go', async () => {
    const schedule = await create({ storageDestinationId: bench.shop.destinationId, enabled: false });
    const refused = await call('DELETE', `/storage-destinations/${bench.shop.destinationId}`);
    expect(refused.body.error.code).toBe('RESOURCE_IN_USE');
    expect(refused.body.error.details.usedBy).toContainEqual({ type: 'schedule', id: schedule.id });
    await call('DELETE', `/schedules/${schedule.id}`);
  });

  test('deleting it with its backups takes admins, and takes them along', async () => {
    const schedule = await create({ enabled: false });
    const { body } = await call('POST', `/schedules/${schedule.id}/run`);
    await untilEnded(bench.app, `/api/v1/backups/${body.data.id}`, bench.as);
    const member = await addMember(bench.app, bench.shop.organizationId, 'member');
    const path = `/api/v1/schedules/${schedule.id}?deleteBackups=true`;
    const as = { token: member.token, organizationId: bench.shop.organizationId };
    const refused = await bench.app.request('DELETE', path, as);
    expect(refused.body.error.code).toBe('PERMISSION_DENIED');
    const deleted = await call('DELETE', `/schedules/${schedule.id}?deleteBackups=true`);
    expect(deleted.body).toEqual({ success: true, message: 'The schedule was deleted; 1 backup went with it.' });
    expect((await call('GET', `/backups/${body.data.id}`)).status).toBe(404);
  });

  test('it ends with its project, and moves along disabled', async () => {
    const other = await protectProject(bench.app, { firestore: bench.sandbox });
    const as = { token: other.owner.token, organizationId: other.organizationId };
    const post = async (path: string, body: object) => bench.app.request('POST', `/api/v1${path}`, { ...as, body });
    const created = await post('/schedules', { projectId: other.projectId, name: 'n', cron: '0 2 * * *' });
    const scheduleId = created.body.data.id;
    const target = await bench.app.request('POST', '/api/v1/organizations', {
      token: as.token,
      body: { name: 'Other' },
    });
    const toId = target.body.data.id;
    const moved = await bench.app.request('PATCH', `/api/v1/projects/${other.projectId}`, {
      ...as,
      body: { organizationId: toId },
    });
    expect(moved.status, moved.text).toBe(200);
    const there = { token: as.token, organizationId: toId };
    const schedule = await bench.app.request('GET', `/api/v1/schedules/${scheduleId}`, there);
    expect(schedule.body.data).toMatchObject({ enabled: false, nextRunAt: null });
    expect((await bench.app.request('GET', `/api/v1/schedules/${scheduleId}`, as)).status).toBe(404);
    await bench.app.request('DELETE', `/api/v1/projects/${other.projectId}`, there);
    expect((await bench.app.request('GET', `/api/v1/schedules/${scheduleId}`, there)).status).toBe(404);
  });

  test('nothing runs for a deleted organization, and nothing of that is missed when it comes back', async () => {
    const other = await protectProject(bench.app, { firestore: bench.sandbox });
    const as = { token: other.owner.token, organizationId: other.organizationId };
    const created = await bench.app.request('POST', '/api/v1/schedules', {
      ...as,
      body: { projectId: other.projectId, name: 'n', cron: '*/5 * * * *' },
    });
    const { name } = (await bench.app.request('GET', '/api/v1/organizations/current', as)).body.data;
    await bench.app.request('POST', '/api/v1/organizations/current/delete', { ...as, body: { confirmName: name } });
    bench.app.clock.advance(40 * minuteMs);
    for (let round = 0; round < 2; round++) await bench.app.tasks.runNow('schedules');
    const recovered = await bench.app.request('POST', `/api/v1/organizations/${other.organizationId}/recover`, as);
    expect(recovered.status, recovered.text).toBe(200);
    const runs = await bench.app.request('GET', `/api/v1/schedules/${created.body.data.id}/runs`, as);
    expect(runs.body.data).toEqual([]);
    await bench.app.request('DELETE', `/api/v1/schedules/${created.body.data.id}`, as);
  });
});
