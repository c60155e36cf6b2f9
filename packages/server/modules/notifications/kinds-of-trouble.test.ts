// @module-tag long
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { startMailServer, type TestMailServer } from '../../testing/mail-server.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
let mails: TestMailServer;
beforeAll(async () => {
  mails = await startMailServer();
  bench = await startBackupBench({ ...hasty, SMTP_URL: mails.url, MAIL_FROM: 'holdfast@example.com' });
  const notifications = { emails: ['ops@example.com'] };
  await call('PUT', '/organizations/current', { settings: { notifications } });
});
afterAll(async () => {
  await bench.close();
  await mails.close();
});
beforeEach(() => bench.sandbox.control.clearFaults());

const minuteMs = 60_000;
const patience = { timeout: 60_000, interval: 200 };
const database = { project: 'shop', database: '(default)' };
const call = async (method: string, path: string, body?: object) => {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
};
const ended = (backupId: string) => untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);

/** The next mail, after the time for collecting. */
async function nextMail(): Promise<string> {
  const before = mails.received.length;
  await expect
    .poll(async () => {
      bench.app.clock.advance(6 * minuteMs);
      await bench.app.tasks.runNow('notifications');
      return mails.received.length;
    }, patience)
    .toBe(before + 1);
  return mails.received.at(-1)!.readable.replace(/\s+/g, ' ');
}

test('a backup that waits too long for admission is reported as missed, and over when it has run after all', async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  const schedule = await call('POST', '/schedules', {
    projectId: bench.shop.projectId,
    name: 'Hourly',
    cron: '0 * * * *',
    missedAfterMinutes: 5,
  });
  bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 4000 });
  const busy = await call('POST', '/backups', { projectId: bench.shop.projectId });
  bench.app.clock.advance(Date.parse(schedule.nextRunAt) - bench.app.clock.now().getTime() + 1000);
  await bench.app.tasks.runNow('schedules');
  const newest = async () => (await call('GET', `/schedules/${schedule.id}/runs`))[0];
  expect(await newest()).toMatchObject({ dueAt: schedule.nextRunAt, status: 'triggered' });
  bench.app.clock.advance(6 * minuteMs);
  await bench.app.tasks.runNow('runs that have not begun');
  const missed = await newest();
  expect(missed).toMatchObject({
    status: 'missed',
    reason: expect.stringMatching(/waiting for 5 minutes.* another backup of the project is still running/),
  });
  expect((await call('GET', `/schedules/${schedule.id}`)).lastRun).toMatchObject({ status: 'missed' });
  const events = await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`select payload from outbox_events where type = 'schedule.failed'`),
  );
  expect(events.rows.map(({ payload }) => payload.data.expectedAt)).toEqual([schedule.nextRunAt]);
  const mail = await nextMail();
  expect(mail).toContain('The schedule "Hourly" of Shop missed a backup.');
  expect(mail).toContain('let fewer of them be due at the same time');
  expect(mail).toContain(`/schedules/${schedule.id}`);
  await call('PATCH', `/schedules/${schedule.id}`, { cron: '0 0 1 1 *' });
  bench.sandbox.control.clearFaults();
  await ended(busy.id);
  await ended(missed.backupId);
  await expect.poll(async () => (await newest()).status, patience).toBe('completed');
  expect(await nextMail()).toContain('It is over: The schedule "Hourly"');
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('troubles of a schedule are over when it is switched off', async () => {
  const body = { projectId: bench.shop.projectId, name: 'Yearly', cron: '0 0 1 1 *' };
  const { id } = await call('POST', '/schedules', body);
  bench.sandbox.control.addFault({ method: 'RunAggregationQuery', status: 'PERMISSION_DENIED', times: 1000 });
  await ended((await call('POST', `/schedules/${id}/run`)).id);
  expect(await nextMail()).toContain('A scheduled backup of Shop failed.');
  await call('PATCH', `/schedules/${id}`, { enabled: false });
  expect(await nextMail()).toContain('It is over: A scheduled backup of Shop failed.');
  await call('DELETE', `/schedules/${id}`);
});

test('a collection that lost most of its documents is mailed', async () => {
  bench.clear();
  const inside = bench.sandbox.control.database(database);
  fillFast(inside, { collection: 'kept', documents: 3000 });
  fillFast(inside, { collection: 'lost', documents: 1500 });
  const before = await bench.backUp();
  bench.clear();
  fillFast(bench.sandbox.control.database(database), { collection: 'kept', documents: 3000 });
  const after = await bench.backUp();
  const { anomaly } = await call('GET', `/backups/${after}`);
  expect(anomaly).toMatchObject({
    reason: 'collection_shrank',
    before: { backupId: before, documentCount: 1500, collection: 'lost' },
    after: { backupId: after, collection: 'lost' },
  });
  const mail = await nextMail();
  expect(mail).toContain('A backup of Shop is suspicious.');
  expect(mail).toContain('The collection lost had 1500 documents');
  expect(mail).toContain('lets retention go on');
});

test('another anomaly is mailed beside one that nobody has looked at yet, and both are over with the look', async () => {
  const { projectId } = bench.shop;
  const [newest] = await call('GET', `/backups?projectId=${projectId}&status=completed&limit=1`);
  const backups = join(bench.app.folder, 'storage', bench.as.organizationId, 'backups');
  await rm(join(backups, newest.id, 'segments'), { recursive: true });
  await call('POST', `/backups/${newest.id}/verify`, {});
  expect(await nextMail()).toContain('A verification found it damaged.');
  await call('POST', `/projects/${projectId}/retention/unfreeze`);
  const over = await nextMail();
  expect(over).toMatch(/Over: .*The collection lost had 1500 documents.*A verification found it damaged/);
});

test('a destination in error is mailed, and over when it works again or is deleted', async () => {
  const made = await call('POST', '/storage-destinations', { name: 'Spare', type: 'local', path: 'spare' });
  const folder = join(bench.app.folder, 'storage', bench.as.organizationId, 'spare');
  const check = () => bench.app.request('POST', `/api/v1/storage-destinations/${made.id}/test`, bench.as);
  const block = async () => {
    // The service may be storing keys there at this moment.
    await vi.waitFor(async () => {
      await rm(folder, { recursive: true, force: true });
      await writeFile(folder, 'where the folder was');
    });
    await check();
  };
  await block();
  const mail = await nextMail();
  expect(mail).toContain('The storage destination "Spare" does not work.');
  expect(mail).toContain('What you can do:');
  await rm(folder);
  await check();
  expect(await nextMail()).toContain('It is over: The storage destination "Spare"');
  await block();
  expect(await nextMail()).toContain('does not work.');
  await call('DELETE', `/storage-destinations/${made.id}`);
  expect(await nextMail()).toContain('It is over: The storage destination "Spare"');
});

test('a capture that has stopped is mailed, and over when it captures again or is switched off', async () => {
  const { projectId } = bench.shop;
  const again = (failures: number) =>
    asOwner(bench.app.databaseUrl, (client) =>
      client.query('update pitr_logs set failures = $2, retry_at = null where project_id = $1', [projectId, failures]),
    );
  const shown = () => call('GET', `/projects/${projectId}/pitr`);
  bench.sandbox.control.addFault({ method: 'Listen', status: 'PERMISSION_DENIED', times: 1000 });
  await call('POST', `/projects/${projectId}/pitr/enable`, {});
  await expect.poll(async () => (await shown()).error?.code, patience).toBe('SOURCE_AUTH_ERROR');
  await again(2);
  const mail = await nextMail();
  expect(mail).toContain('Changes of Shop are not being captured.');
  expect(mail).toContain(`/projects/${projectId}`);
  bench.sandbox.control.clearFaults();
  // Time moved on by far more than the base may take, so an unfinished base is made again.
  const errorAfterAnotherTry = async () => {
    await again(3);
    return (await shown()).error;
  };
  await expect.poll(errorAfterAnotherTry, { ...patience, interval: 1000 }).toBeNull();
  expect(await nextMail()).toContain('It is over: Changes of Shop are not being captured.');
  await call('POST', `/projects/${projectId}/pitr/disable`, { deleteLog: true });
});
