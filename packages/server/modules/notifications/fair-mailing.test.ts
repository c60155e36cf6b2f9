// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startMailServer, type TestMailServer } from '../../testing/mail-server.ts';
import { asOwner, foundOrganization, join, signUp } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let mails: TestMailServer;

beforeAll(async () => {
  mails = await startMailServer();
  app = await startTestApp({ SMTP_URL: mails.url, MAIL_FROM: 'holdfast@example.com', ACCESS_TOKEN_TTL: '86400' });
});
afterAll(async () => {
  await app.close();
  await mails.close();
});

interface Telling {
  words?: string;
  toldAt?: Date | null;
}

async function trouble(organizationId: string, subject: string, { words, toldAt = null }: Telling = {}): Promise<void> {
  const { clock, ids } = app.platform;
  const told = words ?? JSON.stringify({ title: subject, detail: 'It fails.', advice: 'Look.', page: '/' });
  const beganAt = new Date(clock.now().getTime() - 60_000);
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      `insert into troubles (id, organization_id, kind, subject_id, words, began_at, begin_told_at) values ($1, $2, 'storage.error', $3, $4, $5, $6)`,
      [ids.next('evt'), organizationId, subject, told, beganAt, toldAt],
    ),
  );
}

const organizationOf = async (email: string) => foundOrganization(app, await signUp(app, email));
const isTold = (subject: string) => mails.received.some(({ readable }) => readable.includes(subject));

test('organizations that pause between two mails do not delay the mails of others', async () => {
  const noisy = await signUp(app, 'noisy@example.com');
  for (let count = 0; count < 120; count += 1) {
    const id = await foundOrganization(app, noisy);
    await trouble(id, 'told a moment ago', { toldAt: app.platform.clock.now() });
    await trouble(id, 'waits for the pause');
  }
  await trouble(await organizationOf('quiet@example.com'), 'the quiet one');
  await app.tasks.runNow('notifications');
  await expect.poll(() => isTold('the quiet one')).toBe(true);
  expect(isTold('waits for the pause')).toBe(false);
});

test('an organization whose mail fails does not delay the mails of others', async () => {
  app.clock.advance(3_600_000);
  await trouble(await organizationOf('broken@example.com'), 'broken', { words: 'null' });
  await trouble(await organizationOf('behind@example.com'), 'the one behind');
  await app.tasks.runNow('notifications').catch(() => undefined);
  await expect.poll(() => isTold('the one behind')).toBe(true);
});

test('addresses that belong to no member get a hundred mails a day, then owners and admins get them instead', {
  timeout: 60_000,
}, async () => {
  const owner = await signUp(app, 'in-charge@example.com');
  const organizationId = await foundOrganization(app, owner);
  const strangers = Array.from({ length: 33 }, (_, index) => `stranger-${index}@elsewhere.test`);
  const helper = await signUp(app, 'Helper@example.com');
  await join(app, organizationId, helper, 'viewer');
  const body = { settings: { notifications: { emails: [...strangers, 'helper@example.com'] } } };
  const as = { token: owner.token, organizationId };
  expect((await app.request('PUT', '/api/v1/organizations/current', { ...as, body })).status).toBe(200);
  const tell = async (subject: string) => {
    app.clock.advance(6 * 60_000);
    await trouble(organizationId, subject);
    await app.tasks.runNow('notifications').catch(() => undefined);
    const told = () => mails.received.filter(({ readable }) => readable.includes(subject)).flatMap(({ to }) => to);
    await expect.poll(() => told().includes('helper@example.com'), { timeout: 20_000 }).toBe(true);
    await expect.poll(() => waitingMails(organizationId), { timeout: 20_000 }).toBe(0);
    return told();
  };
  for (const subject of ['first trouble', 'second trouble', 'third trouble']) {
    const told = await tell(subject);
    expect(told.toSorted()).toEqual([...strangers, 'helper@example.com'].toSorted());
  }
  expect((await tell('fourth trouble')).toSorted()).toEqual(['helper@example.com', 'in-charge@example.com']);
  app.clock.advance(24 * 3_600_000);
  expect(await tell('next day')).toHaveLength(34);
});

test('addresses outside the organization get five hundred mails a day from all organizations of one owner', async () => {
  const owner = await signUp(app, 'of-many@example.com');
  app.clock.advance(3_600_000);
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      `insert into person_mails (user_id, kind, expires_at) select $1, 'notification', $2 from generate_series(1, 495)`,
      [owner.id, new Date(app.platform.clock.now().getTime() + 3_600_000)],
    ),
  );
  for (const name of ['first', 'second']) {
    const organizationId = await foundOrganization(app, owner);
    const emails = ['one', 'two', 'three'].map((stranger) => `${stranger}-of-${name}@elsewhere.test`);
    const body = { settings: { notifications: { emails } } };
    await app.request('PUT', '/api/v1/organizations/current', { token: owner.token, organizationId, body });
    await trouble(organizationId, `trouble of the ${name}`);
  }
  await app.tasks.runNow('notifications').catch(() => undefined);
  const told = (subject: string) =>
    mails.received.filter(({ readable }) => readable.includes(subject)).flatMap(({ to }) => to);
  await expect.poll(() => told('trouble of the second')).toEqual(['of-many@example.com']);
  await expect.poll(() => told('trouble of the first')).toHaveLength(3);
});

async function waitingMails(organizationId: string): Promise<number | null> {
  return asOwner(app.databaseUrl, async (client) => {
    const { rowCount } = await client.query('select from outgoing_mails where organization_id = $1', [organizationId]);
    return rowCount;
  });
}

test('a trouble from shortly before an organization was deleted is mailed once it is recovered', {
  timeout: 60_000,
}, async () => {
  app.clock.advance(3_600_000);
  const owner = await signUp(app, 'gone@example.com');
  const organizationId = await foundOrganization(app, owner);
  await trouble(organizationId, 'before the end');
  const call = (path: string, body: object) =>
    app.request('POST', `/api/v1/organizations/${path}`, { token: owner.token, organizationId, body });
  expect((await call('current/delete', { confirmName: `Organization ${organizationId}` })).status).toBe(200);
  await app.tasks.runNow('notifications').catch(() => undefined);
  expect((await call(`${organizationId}/recover`, {})).status).toBe(200);
  await app.tasks.runNow('notifications').catch(() => undefined);
  await expect.poll(() => isTold('before the end')).toBe(true);
});
