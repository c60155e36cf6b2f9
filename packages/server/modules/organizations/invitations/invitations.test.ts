import { standardData } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMailServer, type TestMailServer } from '../../../testing/mail-server.ts';
import { asOwner, signUp, type TestPerson } from '../../../testing/people.ts';
import { addMember, foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const invites = '/api/v1/organizations/current/invites';
const dayMs = 86_400_000;

let app: TestApp;
let mails: TestMailServer;
let organization: TestOrganization;
beforeAll(async () => {
  mails = await startMailServer();
  app = await startTestApp({ SMTP_URL: mails.url, MAIL_FROM: 'Holdfast <backup@example.com>' });
  organization = await foundOrganization(app, 'Ada & "Sons" <Ltd>');
});
afterAll(async () => {
  await app.close();
  await mails.close();
});

let serial = 0;
const newEmail = () => `invitee-${++serial}@example.com`;
const asTheOwner = () => ({ token: organization.owner.token, organizationId: organization.id });
const invite = (email: string, role?: string) =>
  app.request('POST', invites, { ...asTheOwner(), body: role ? { email, role } : { email } });
const accept = (person: TestPerson, token: string) =>
  app.request('POST', '/api/v1/invitations/accept', { token: person.token, body: { token } });

async function mailTo(email: string, count = 1) {
  const find = () => mails.received.filter((mail) => mail.to.includes(email));
  await expect.poll(() => find().length).toBeGreaterThanOrEqual(count);
  return find().at(-1) as (typeof mails.received)[number];
}
/** Makes the invitation that much older. Moving the clock would also end the sessions of the test. */
const age = (invitationId: string, days: number) =>
  asOwner(app.databaseUrl, async (client) => {
    await client.query("update invitations set expires_at = expires_at - $2 * interval '1 day' where id = $1", [
      invitationId,
      days,
    ]);
    await client.query("update invitation_mails set sent_at = sent_at - $1 * interval '1 day'", [days]);
  });
const tokenIn = (text: string) => /invitations\/accept\?token=([\w-]+)/.exec(text)?.[1] as string;

describe('a person who may no longer invite', () => {
  const open = async () => {
    const { body } = await app.request('GET', invites, asTheOwner());
    return (body.data as { email: string }[]).map(({ email }) => email);
  };
  const inviteBy = (person: TestPerson, email: string, role: string) =>
    app.request('POST', invites, { token: person.token, organizationId: organization.id, body: { email, role } });
  const member = (person: TestPerson) => `/api/v1/organizations/current/members/${person.id}`;

  test('loses the invitations they sent: those of a removed or demoted admin let nobody in', {
    tags: 'long',
  }, async () => {
    for (const end of ['remove', 'lower', 'leave'] as const) {
      const admin = await addMember(app, organization.id, 'admin');
      const email = newEmail();
      expect((await inviteBy(admin, email, 'admin')).status).toBe(201);
      const token = tokenIn((await mailTo(email)).readable);
      if (end === 'lower') await app.request('PUT', member(admin), { ...asTheOwner(), body: { role: 'member' } });
      else if (end === 'remove') await app.request('DELETE', member(admin), asTheOwner());
      else await app.request('DELETE', member(admin), { token: admin.token, organizationId: organization.id });
      expect(await open(), end).not.toContain(email);
      const answer = await accept(await signUp(app, email), token);
      expect([answer.status, answer.body.error.code], end).toEqual([404, 'INVITATION_NOT_FOUND']);
    }
  });

  test('keeps alive the invitations that somebody else sent again', async () => {
    const admin = await addMember(app, organization.id, 'admin');
    const email = newEmail();
    const { body } = await inviteBy(admin, email, 'viewer');
    await age(body.data.id, 1);
    const resent = await app.request('POST', `${invites}/${body.data.id}/resend`, asTheOwner());
    expect(resent.status, resent.text).toBe(200);
    await app.request('DELETE', member(admin), asTheOwner());
    expect(await open()).toContain(email);
    expect((await accept(await signUp(app, email), tokenIn((await mailTo(email, 2)).readable))).status).toBe(200);
  });
});

describe('inviting', () => {
  test('sends a mail in text and HTML whose link lets the invitee in, once', async () => {
    const email = newEmail();
    const created = await invite(email, 'admin');
    expect(created.status).toBe(201);
    expect(created.body.data).toMatchObject({ email, role: 'admin', status: 'pending' });
    expect(Date.parse(created.body.data.expiresAt) - Date.parse(created.body.data.createdAt)).toBe(7 * dayMs);
    const mail = await mailTo(email);
    expect(mail.from).toBe('backup@example.com');
    expect(mail.raw).toMatch(/text\/plain/);
    expect(mail.raw).toMatch(/text\/html/);
    expect(mail.readable).toContain(`${app.address}/invitations/accept?token=`);
    expect(mail.readable).toContain('Ada &#38; &#34;Sons&#34; &#60;Ltd&#62;');
    expect(mail.readable).not.toContain('<strong>Ada & "Sons" <Ltd>');
    const show = () => app.request('POST', '/api/v1/invitations/show', { body: { token: tokenIn(mail.readable) } });
    expect((await show()).body.data).toMatchObject({
      organization: { name: expect.any(String) },
      email,
      role: 'admin',
      invitedBy: { email: expect.any(String) },
    });
    const person = await signUp(app, email.toUpperCase());
    const joined = await accept(person, tokenIn(mail.readable));
    expect((await show()).body.error.code).toBe('INVITATION_NOT_FOUND');
    expect(joined.body.data).toMatchObject({ organization: { id: organization.id }, role: 'admin' });
    const me = await app.request('GET', invites, { token: person.token, organizationId: organization.id });
    expect(me.status).toBe(200);
    const again = await accept(person, tokenIn(mail.readable));
    expect([again.status, again.body.error.code]).toEqual([404, 'INVITATION_NOT_FOUND']);
  });

  test('shows the name of the organization in the subject as it is written, also when it looks like an encoded word', async () => {
    const { owner } = organization;
    const { body } = await app.request('POST', '/api/v1/organizations', {
      token: owner.token,
      body: { name: '=?utf-8?Q?Your_bank?=' },
    });
    const email = newEmail();
    const as = { token: owner.token, organizationId: body.data.id };
    expect((await app.request('POST', invites, { ...as, body: { email } })).status).toBe(201);
    const [subject] = /^Subject:.*(\r?\n[ \t].*)*/m.exec((await mailTo(email)).raw) ?? [''];
    expect(subject).toContain('utf-8?Q?Your_bank');
    expect(subject).not.toContain('=?');
  });

  test('accepting sends two events that match the contract, and is in the audit log', async () => {
    const email = newEmail();
    const { id } = (await invite(email)).body.data;
    const person = await signUp(app, email);
    await accept(person, tokenIn((await mailTo(email)).readable));
    const found = await asOwner(app.databaseUrl, async (client) => ({
      events: (
        await client.query(
          `select type, payload->'data' as data from outbox_events where organization_id = $1 and (payload->'data'->'invitation'->>'id' = $2 or payload->'data'->'member'->>'id' = $3) order by position`,
          [organization.id, id, person.id],
        )
      ).rows as { type: keyof typeof standardData; data: unknown }[],
      actions: (
        await client.query('select action from audit_logs where resource_id in ($1, $2) order by position', [
          id,
          person.id,
        ])
      ).rows.map((row) => row.action),
    }));
    expect(found.events.map((event) => event.type)).toEqual([
      'invitation.created',
      'invitation.accepted',
      'member.joined',
    ]);
    for (const { type, data } of found.events) expect(standardData[type].parse(data)).toEqual(data);
    expect(found.actions).toEqual(['invitation.created', 'invitation.accepted', 'member.joined']);
  });

  test('one pending invitation per address, whatever its case; none for a member; never as owner', async () => {
    const email = newEmail();
    await invite(email);
    const second = await invite(email.toUpperCase());
    expect([second.status, second.body.error.code]).toEqual([409, 'INVITATION_EXISTS']);
    const member = await invite(organization.owner.email);
    expect([member.status, member.body.error.code]).toEqual([409, 'ALREADY_MEMBER']);
    const owner = await invite(newEmail(), 'owner');
    expect([owner.status, owner.body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('an expired invitation is replaced by a new one', async () => {
    const email = newEmail();
    const first = (await invite(email)).body.data;
    const token = tokenIn((await mailTo(email)).readable);
    await age(first.id, 7);
    const listed = await app.request('GET', `${invites}?limit=200`, asTheOwner());
    expect(listed.body.data.map((item: { id: string }) => item.id)).not.toContain(first.id);
    const person = await signUp(app, email);
    const late = await accept(person, token);
    expect([late.status, late.body.error.code]).toEqual([410, 'INVITATION_EXPIRED']);
    const second = await invite(email);
    expect(second.status).toBe(201);
    expect((await accept(person, token)).body.error.code).toBe('INVITATION_EXPIRED');
    expect((await accept(person, tokenIn((await mailTo(email, 2)).readable))).status).toBe(200);
  });
});

describe('accepting', () => {
  test('another or an unverified address is refused', async () => {
    const email = newEmail();
    await invite(email);
    const token = tokenIn((await mailTo(email)).readable);
    const other = await signUp(app, newEmail());
    const unverified = await signUp(app, email, { emailVerified: false });
    for (const person of [other, unverified]) {
      const answer = await accept(person, token);
      expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN']);
    }
    expect((await accept(await signUp(app, email), 'made-up')).body.error.code).toBe('INVITATION_NOT_FOUND');
  });

  test('two concurrent acceptances make one member', async () => {
    const email = newEmail();
    await invite(email);
    const token = tokenIn((await mailTo(email)).readable);
    const person = await signUp(app, email);
    const answers = await Promise.all(Array.from({ length: 6 }, () => accept(person, token)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.body.error?.code === 'INVITATION_NOT_FOUND')).toHaveLength(5);
  });

  test('an invitation to a deleted organization is not found', async () => {
    const gone = await foundOrganization(app, 'Gone');
    const call = { token: gone.owner.token, organizationId: gone.id };
    const email = newEmail();
    await app.request('POST', invites, { ...call, body: { email } });
    const token = tokenIn((await mailTo(email)).readable);
    await app.request('POST', '/api/v1/organizations/current/delete', { ...call, body: { confirmName: 'Gone' } });
    expect((await accept(await signUp(app, email), token)).body.error.code).toBe('INVITATION_NOT_FOUND');
  });
});

describe('resending and cancelling', () => {
  test('a resent invitation has a new link that is valid for a week, and the old link stops working', async () => {
    const email = newEmail();
    const { id, expiresAt } = (await invite(email)).body.data;
    const first = tokenIn((await mailTo(email)).readable);
    await age(id, 3);
    const resent = await app.request('POST', `${invites}/${id}/resend`, asTheOwner());
    expect(resent.body.data).toMatchObject({ id, email });
    expect(Date.parse(resent.body.data.expiresAt)).toBeGreaterThan(Date.parse(expiresAt));
    const second = tokenIn((await mailTo(email, 2)).readable);
    const person = await signUp(app, email);
    expect((await accept(person, first)).body.error.code).toBe('INVITATION_NOT_FOUND');
    expect((await accept(person, second)).status).toBe(200);
  });

  test('a cancelled invitation is not in the list, and its link stops working', async () => {
    const email = newEmail();
    const { id } = (await invite(email)).body.data;
    const token = tokenIn((await mailTo(email)).readable);
    expect((await app.request('DELETE', `${invites}/${id}`, asTheOwner())).status).toBe(200);
    expect((await accept(await signUp(app, email), token)).body.error.code).toBe('INVITATION_NOT_FOUND');
    for (const answer of [
      await app.request('DELETE', `${invites}/${id}`, asTheOwner()),
      await app.request('POST', `${invites}/${id}/resend`, asTheOwner()),
    ]) {
      expect(answer.body.error.code).toBe('INVITATION_NOT_FOUND');
    }
  });

  test('pending invitations are listed newest first with their sender, for admins only', async () => {
    const email = newEmail();
    const { id } = (await invite(email, 'viewer')).body.data;
    const listed = await app.request('GET', invites, asTheOwner());
    expect(listed.body.data[0]).toMatchObject({
      id,
      email,
      role: 'viewer',
      invitedBy: { id: organization.owner.id, email: organization.owner.email },
    });
    const member = await addMember(app, organization.id, 'member');
    const refused = await app.request('GET', invites, { token: member.token, organizationId: organization.id });
    expect(refused.body.error.code).toBe('PERMISSION_DENIED');
  });
});

describe('mail', () => {
  test('neither the token nor the text of a waiting mail is in the database or the log', {
    tags: 'long',
  }, async () => {
    mails.refuseWith(451);
    const email = newEmail();
    await invite(email);
    await expect.poll(() => app.logged()).toContain('did not take a mail');
    const dump = await asOwner(app.databaseUrl, async (client) => {
      const mailRows = await client.query('select m::text from outgoing_mails m');
      const jobs = await client.query('select j::text from pgboss.job j');
      return JSON.stringify([mailRows.rows, jobs.rows]);
    });
    expect(dump).toContain('hf1.');
    expect(dump).not.toContain('accept?token');
    mails.refuseWith(undefined);
    const token = tokenIn((await mailTo(email)).readable);
    expect(dump + app.logged()).not.toContain(token);
    await expect
      .poll(() =>
        asOwner(app.databaseUrl, async (client) => (await client.query('select 1 from outgoing_mails')).rowCount),
      )
      .toBe(0);
  });

  test('a mail to a recipient that the server rejects for good is given up at once, not retried for a week', async () => {
    mails.refuseWith(550);
    const email = newEmail();
    await invite(email);
    await expect.poll(() => app.logged()).toContain('was given up');
    mails.refuseWith(undefined);
    expect(mails.received.some((mail) => mail.to.includes(email))).toBe(false);
  });
});

test('a mail server that is down when the invitation is made gets the mail later', {
  tags: 'long',
}, async () => {
  const probe = await startMailServer();
  await probe.close();
  const late = await startTestApp({ SMTP_URL: probe.url });
  try {
    const { id, owner } = await foundOrganization(late);
    const email = newEmail();
    const call = { token: owner.token, organizationId: id };
    await late.request('POST', invites, { ...call, body: { email } });
    await expect.poll(() => late.logged()).toContain('did not take a mail');
    const back = await startMailServer(probe.port);
    await expect.poll(() => back.received.map((mail) => mail.to)).toEqual([[email]]);
    await back.close();
  } finally {
    await late.close();
  }
});

test('without a mail server the link is in the log, also at level warn', async () => {
  const alone = await startTestApp({ LOG_LEVEL: 'warn' });
  try {
    const { id, owner } = await foundOrganization(alone);
    const email = newEmail();
    await alone.request('POST', invites, { token: owner.token, organizationId: id, body: { email } });
    await expect.poll(() => tokenIn(alone.logged())).toBeTruthy();
    const person = await signUp(alone, email);
    const token = tokenIn(alone.logged());
    const joined = await alone.request('POST', '/api/v1/invitations/accept', { token: person.token, body: { token } });
    expect(joined.status).toBe(200);
  } finally {
    await alone.close();
  }
});
