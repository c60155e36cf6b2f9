import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { allowedEvents, type EventName, eventNames, events, standardEnvelope } from '@holdfast/contract';
import { type FirestoreSandbox, loadSample, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type App, startApp } from '../../../app.ts';
import { startMailServer, type TestMailServer } from '../../../testing/mail-server.ts';
import { signUp } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { reachesReceiver, startWebhookReceiver, type WebhookReceiver } from '../../../testing/webhook-receiver.ts';

/** Events whose sending and schemas are tested by other modules. */
const elsewhere: ReadonlySet<EventName> = new Set([
  'backup.anomaly',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
  'schedule.triggered',
  'schedule.failed',
]);
const standing = eventNames.filter((name) => !elsewhere.has(name));

let app: TestApp;
let worker: App;
let receiver: WebhookReceiver;
let mails: TestMailServer;
let firestore: FirestoreSandbox;
const accident = { at: 0, toldAt: 0, mailedAt: 0, coveredFrom: null as unknown };
const gatheredMs = 25_000;
const mailOfAccident = () =>
  mails.received.find(({ readable }) => readable.includes('Many documents of Accident were deleted'));

beforeAll(async () => {
  [receiver, mails, firestore] = await Promise.all([
    startWebhookReceiver(),
    startMailServer(),
    startFirestoreSandbox({ listenMode: 'as-production', listenHeartbeatMs: 100 }),
  ]);
  const environment = { ...reachesReceiver.environment, SMTP_URL: mails.url, PITR_SEGMENT_SECONDS: '0.2' };
  app = await startTestApp({ ...environment, HOLDFAST_ROLES: 'api' }, reachesReceiver.overrides);
  await tellTheStory();
});
afterAll(async () => {
  await worker?.close();
  await app.close();
  await Promise.all([receiver.close(), mails.close(), firestore.stop()]);
});

/** Causes every event of an organization, each by a call of the public API. */
async function tellTheStory(): Promise<void> {
  const owner = await signUp(app, 'owner@story.test');
  const founded = await app.request('POST', '/api/v1/organizations', { token: owner.token, body: { name: 'Story' } });
  const as = { token: owner.token, organizationId: founded.body.data.id as string };
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await app.request(method, `/api/v1${path}`, { ...as, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body.data;
  };
  for (const format of ['standard', 'simple']) {
    await call('POST', '/webhooks', { name: format, url: `${receiver.address}/${format}`, events: ['*'], format });
  }
  // Nothing has been dispatched yet, so the webhooks also get the event of their organization's creation.
  worker = await startApp(
    { ...app.platform.config, HOLDFAST_ROLES: ['worker', 'scheduler'] },
    { clock: app.clock, log: app.platform.log, ...reachesReceiver.overrides },
  );
  await call('PUT', '/organizations/current', { name: 'Story retold' });
  await tellOfPeople(call);
  const { projectId, destinationId, backupId } = await tellOfBackups(call, as);
  await tellOfAccident(call, destinationId);
  await tellOfTrouble(call, as, projectId, destinationId, backupId);
  await call('DELETE', `/projects/${projectId}`);
  await call('POST', '/organizations/current/delete', { confirmName: 'Story retold' });
}

type Call = (method: string, path: string, body?: unknown) => Promise<{ id: string } & Record<string, unknown>>;

async function tellOfPeople(call: Call): Promise<void> {
  const guest = await signUp(app, 'guest@story.test');
  await call('POST', '/organizations/current/invites', { email: guest.email });
  await vi.waitFor(() => expect(mails.received).toHaveLength(1), { timeout: 60_000 });
  const token = /accept\?token=([\w-]+)/.exec(mails.received[0]?.readable ?? '')?.[1];
  await app.request('POST', '/api/v1/invitations/accept', { token: guest.token, body: { token } });
  await call('PUT', `/organizations/current/members/${guest.id}`, { role: 'viewer' });
  await call('DELETE', `/organizations/current/members/${guest.id}`);
}

async function tellOfBackups(call: Call, as: { token: string; organizationId: string }) {
  const destination = await call('POST', '/storage-destinations', { name: 'Folder', type: 'local', path: 'story' });
  loadSample(firestore.control.database({ project: 'story', database: '(default)' }), { seed: 7, documents: 1000 });
  const connection = { type: 'emulator', host: firestore.address };
  const project = await call('POST', '/projects', { name: 'Shop', sourceProjectId: 'story', connection });
  const backup = await call('POST', '/backups', { projectId: project.id, storageDestinationId: destination.id });
  await ended(`/backups/${backup.id}`, as, 'completed');
  const restore = await call('POST', '/backups/restore', { backupId: backup.id, options: { safetyBackup: false } });
  await ended(`/backups/restore/${restore.id}`, as, 'completed');
  const copy = await call('POST', '/projects', { name: 'Copy', sourceProjectId: 'copy', connection });
  const filters = { projects: [project.id] };
  await call('POST', '/webhooks', { name: 'Shop', url: `${receiver.address}/shop`, events: ['restore.*'], filters });
  const options = { safetyBackup: false };
  const across = await call('POST', '/backups/restore', { backupId: backup.id, targetProjectId: copy.id, options });
  await ended(`/backups/restore/${across.id}`, as, 'completed');
  return { projectId: project.id, destinationId: destination.id, backupId: backup.id };
}

/** Changes are captured, and then most of the documents are deleted at once. */
async function tellOfAccident(call: Call, storageDestinationId: string): Promise<void> {
  process.env.FIRESTORE_EMULATOR_HOST = firestore.address;
  const database = new Firestore({ projectId: 'accident' });
  delete process.env.FIRESTORE_EMULATOR_HOST;
  const items = [...Array(60)].map((_, n) => database.doc(`items/${n}`));
  for (const item of items) await item.set({ n: 1 });
  const connection = { type: 'emulator', host: firestore.address };
  const { id } = await call('POST', '/projects', { name: 'Accident', sourceProjectId: 'accident', connection });
  await call('POST', `/projects/${id}/pitr/enable`, { storageDestinationId });
  const shown = () => call('GET', `/projects/${id}/pitr`);
  await vi.waitFor(async () => expect(await shown()).toMatchObject({ status: 'running' }), { timeout: 60_000 });
  await items[0]!.set({ n: 2 });
  const batch = database.batch();
  for (const item of items.slice(1)) batch.delete(item);
  await batch.commit();
  accident.at = Date.now();
  const isTold = () => bodiesAt('/standard').some((body) => body.type === 'pitr.anomaly');
  await vi.waitFor(() => expect(isTold()).toBe(true), { timeout: 60_000, interval: 200 });
  accident.toldAt = Date.now();
  // Waits for what comes right after it, which goes into the same mail.
  app.clock.advance(gatheredMs);
  await vi.waitFor(() => expect(mailOfAccident()).toBeDefined(), { timeout: 60_000, interval: 200 });
  accident.mailedAt = Date.now() + gatheredMs;
  ({ coveredFrom: accident.coveredFrom } = await call('POST', `/projects/${id}/pitr/disable`, {}));
  await call('POST', `/projects/${id}/pitr/enable`, {});
  await call('POST', `/projects/${id}/pitr/disable`, { deleteLog: true });
  await database.terminate();
}

/** Replaces the folder of the destination by a file, so that nothing can be read or written there. */
async function tellOfTrouble(
  call: Call,
  as: { token: string; organizationId: string },
  projectId: string,
  destinationId: string,
  backupId: string,
): Promise<void> {
  const folder = join(app.folder, 'storage', as.organizationId, 'story');
  await rename(folder, `${folder}.away`);
  await writeFile(folder, 'in the way');
  await call('POST', `/storage-destinations/${destinationId}/test`);
  const restore = await call('POST', '/backups/restore', { backupId, options: { safetyBackup: false } });
  await ended(`/backups/restore/${restore.id}`, as, 'failed');
  const backup = await call('POST', '/backups', { projectId, storageDestinationId: destinationId });
  await ended(`/backups/${backup.id}`, as, 'failed');
}

async function ended(path: string, as: { token: string; organizationId: string }, status: string): Promise<void> {
  const job = await untilEnded(app, `/api/v1${path}`, as, 90_000);
  if (job.status !== status) throw new Error(`${path} ended ${job.status}: ${JSON.stringify(job.error)}`);
}

const bodiesAt = (path: string) => receiver.to(path).map((request) => JSON.parse(request.body));

test('a restore from one project into another is sent to the webhooks of either', async () => {
  const across = () => bodiesAt('/shop').filter(({ data }) => data.targetProject.name === 'Copy');
  await expect.poll(() => across().map(({ type }) => type)).toContain('restore.completed');
});

describe('the standard format', () => {
  test.each(standing)('%s is really sent and matches its schema', async (name) => {
    const found = () => bodiesAt('/standard').filter((body) => body.type === name);
    await expect.poll(() => found().length).toBeGreaterThan(0);
    for (const body of found()) {
      expect(standardEnvelope.parse(body)).toEqual(body);
      const parsed = events[name].formats.standard?.data.parse(body.data);
      expect(parsed, `${name} tells more than its schema`).toEqual(body.data);
    }
  });
});

describe('the simple format', () => {
  test.each(allowedEvents('simple').filter((name) => !elsewhere.has(name)))(
    '%s is really sent and matches its schema',
    async (name) => {
      const found = () => bodiesAt('/simple').filter((body) => body.event === name);
      await expect.poll(() => found().length).toBeGreaterThan(0);
      for (const body of found()) expect(events[name].formats.simple?.data.parse(body.data)).toEqual(body.data);
    },
  );

  test('carries no other events', () => {
    expect(new Set(bodiesAt('/simple').map((body) => body.event)).difference(new Set(allowedEvents('simple')))).toEqual(
      new Set(),
    );
  });
});

test('a mass deletion is reported by event and by mail within a minute, with the moment just before it', () => {
  expect(accident.toldAt - accident.at).toBeLessThan(60_000);
  const [sent] = bodiesAt('/standard').filter((body) => body.type === 'pitr.anomaly');
  const { anomaly } = sent.data;
  expect(anomaly).toMatchObject({ reason: 'mass_deletion', deletes: 59, documents: 60, collections: ['items'] });
  const before = accident.at - Date.parse(anomaly.suggestedPointInTime);
  expect([before > 0, before < 5_000]).toEqual([true, true]);
  expect(mailOfAccident()!.readable).toContain(anomaly.suggestedPointInTime);
  expect(accident.mailedAt - accident.at).toBeLessThan(60_000);
});

test('switching capture on and off sends which moments can then be reached', async () => {
  const sent = () =>
    bodiesAt('/standard')
      .filter(({ type, data }) => /^pitr.(en|dis)abled$/.test(type) && data.project.name === 'Accident')
      .sort((left, right) => (left.timestamp < right.timestamp ? -1 : 1))
      .map(({ data }) => data.pitr);
  await vi.waitFor(() => expect(sent()).toHaveLength(4));
  const none = { coveredFrom: null, coveredTo: null };
  const captured = { coveredFrom: accident.coveredFrom, coveredTo: expect.any(String) };
  expect(accident.coveredFrom).toEqual(expect.any(String));
  expect(sent()).toEqual([
    { enabled: true, status: 'starting', ...none },
    { enabled: false, status: 'stopped', ...captured },
    { enabled: true, status: expect.any(String), ...captured },
    { enabled: false, status: 'stopped', ...none },
  ]);
});

test('progress is sent at each tenth at most once per job', () => {
  for (const [type, key] of [
    ['backup.progress', 'backup'],
    ['restore.progress', 'restore'],
  ] as const) {
    const sent = bodiesAt('/standard')
      .filter((body) => body.type === type)
      .map((body) => `${body.data[key].id} ${body.data.progress?.percent ?? body.data.restore?.percent}`);
    expect(sent.length).toBe(new Set(sent).size);
    for (const entry of sent) expect(Number(entry.split(' ')[1]) % 10).toBe(0);
  }
});
