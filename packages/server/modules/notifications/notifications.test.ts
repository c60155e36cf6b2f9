// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { type ReceivedMail, startMailServer, type TestMailServer } from '../../testing/mail-server.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import { addMember } from '../../testing/team.ts';

let bench: BackupBench;
let mails: TestMailServer;
beforeAll(async () => {
  mails = await startMailServer();
  bench = await startBackupBench({ ...hasty, SMTP_URL: mails.url, MAIL_FROM: 'holdfast@example.com' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  await mails.close();
});

const minuteMs = 60_000;
const subjectOf = (mail: ReceivedMail | undefined) =>
  /^Subject: (.*(?:\r?\n[ \t].*)*)/m.exec(mail?.readable ?? '')?.[1]?.replace(/\s+/g, ' ');
let seen = 0;
/** The mails since the last look. */
const fresh = () => mails.received.slice(seen);
const lookAway = () => {
  seen = mails.received.length;
};
const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
async function create(name: string) {
  const body = { projectId: bench.shop.projectId, name, cron: '0 2 * * *', enabled: false };
  return (await call('POST', '/schedules', body)).body.data.id as string;
}
async function run(scheduleId: string) {
  const started = await call('POST', `/schedules/${scheduleId}/run`);
  return untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
}
/** Lets the time for collecting pass and sends what is due. */
async function tell() {
  bench.app.clock.advance(6 * minuteMs);
  await bench.app.tasks.runNow('notifications');
}
const breakSource = () =>
  bench.sandbox.control.addFault({ method: 'RunAggregationQuery', status: 'PERMISSION_DENIED', times: 1000 });

test('owners and admins get one mail when a scheduled backup fails, and one when it works again', async () => {
  const admin = await addMember(bench.app, bench.shop.organizationId, 'admin');
  await addMember(bench.app, bench.shop.organizationId, 'viewer');
  const schedule = await create('Nightly');
  breakSource();
  const failed = await run(schedule);
  expect(failed.status).toBe('failed');
  await run(schedule);
  await tell();
  await expect.poll(() => fresh().length).toBe(2);
  const recipients = fresh()
    .flatMap(({ to }) => to)
    .sort();
  expect(recipients).toEqual([admin.email, bench.shop.owner.email].sort());
  const [first] = fresh();
  expect(subjectOf(first)).toMatch(/A scheduled backup of Shop failed$/);
  // The link opens this organization, because a person may belong to several.
  const { slug } = (await call('GET', '/organizations/current')).body.data;
  for (const page of [`backups/${failed.id}`, 'settings'])
    expect(first!.readable.replaceAll(/=?\r?\n/g, '')).toContain(`/o/${slug}/${page}`);
  expect(first!.readable).toContain('What you can do:');
  await tell();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(fresh()).toHaveLength(2);
  bench.sandbox.control.clearFaults();
  expect((await run(schedule)).status).toBe('completed');
  await tell();
  await expect.poll(() => fresh().length).toBe(4);
  expect(subjectOf(fresh().at(-1))).toMatch(/Over: A scheduled backup of Shop failed$/);
  await call('DELETE', `/schedules/${schedule}`);
});

test('twenty failures at once are one mail', async () => {
  await call('PUT', '/organizations/current', { settings: { notifications: { emails: ['ops@example.com'] } } });
  lookAway();
  const schedules: string[] = [];
  for (let n = 0; n < 20; n++) schedules.push(await create(`Schedule ${n}`));
  breakSource();
  for (const schedule of schedules) await call('POST', `/schedules/${schedule}/run`);
  const open = async () =>
    (await bench.get('/backups?status=pending')).length + (await bench.get('/backups?status=running')).length;
  await expect.poll(open, { timeout: 90_000, interval: 500 }).toBe(0);
  await tell();
  await expect.poll(() => fresh().length).toBe(1);
  expect(fresh()[0]!.to).toEqual(['ops@example.com']);
  expect(subjectOf(fresh()[0])).toMatch(/20 new problems$/);
  bench.sandbox.control.clearFaults();
  for (const schedule of schedules) await call('DELETE', `/schedules/${schedule}`);
  await tell();
  await expect.poll(() => fresh().length).toBe(2);
  expect(subjectOf(fresh()[1])).toMatch(/20 over$/);
});

test('an empty list mails nobody, and events that are not listed are not mailed', async () => {
  lookAway();
  const settings = { notifications: { emails: [], events: ['backup.failed'] } };
  const changed = await call('PUT', '/organizations/current', { settings });
  expect(changed.body.data.settings.notifications).toEqual(settings.notifications);
  const schedule = await create('Nightly');
  breakSource();
  await run(schedule);
  await tell();
  await call('PUT', '/organizations/current', {
    settings: { notifications: { emails: ['ops@example.com'], events: ['storage.error'] } },
  });
  bench.sandbox.control.clearFaults();
  await run(schedule);
  await tell();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(fresh()).toEqual([]);
  await call('PUT', '/organizations/current', { settings: { notifications: null } });
  await call('DELETE', `/schedules/${schedule}`);
});

test('a dead mail server blocks nothing', async () => {
  await mails.close();
  const schedule = await create('Nightly');
  breakSource();
  await run(schedule);
  await tell();
  bench.sandbox.control.clearFaults();
  expect((await run(schedule)).status).toBe('completed');
  await tell();
  expect((await bench.app.request('GET', '/health')).body.status).toBe('healthy');
});
