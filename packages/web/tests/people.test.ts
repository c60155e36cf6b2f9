import { freePort } from '@holdfast/server/platform/free-port';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  clientId,
  clientSecret,
  startIdentityProvider,
  type TestIdentityProvider,
} from '../../server/testing/identity-provider.ts';
import { startMailServer, type TestMailServer } from '../../server/testing/mail-server.ts';
import { asOwner, signUp } from '../../server/testing/people.ts';
import { addMember } from '../../server/testing/team.ts';
import { findings } from '../testing/accessibility.ts';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('people', () => {
  let dashboard: TestDashboard;
  let provider: TestIdentityProvider;
  let mails: TestMailServer;
  let shop: Shop;
  beforeAll(async () => {
    const port = await freePort();
    mails = await startMailServer();
    provider = await startIdentityProvider({ redirectUris: [`http://127.0.0.1:${port}/api/v1/auth/google/callback`] });
    dashboard = await startDashboard({
      PORT: String(port),
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      SMTP_URL: mails.url,
    });
    shop = await openShop(dashboard.app);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
    await provider.close();
    await mails.close();
  });

  test('are invited by mail, sign in as themselves, and join', async () => {
    const owner = await dashboard.visit(shop.as.token);
    await owner.page.goto(`/o/${shop.slug}/team`);
    await owner.page.getByRole('button', { name: 'Invite' }).click();
    await owner.page.getByLabel('E-mail address').fill('grace@example.com');
    await owner.page.getByText('Viewer', { exact: true }).click();
    await owner.page.getByRole('button', { name: 'Send invitation' }).click();
    await owner.page.getByText('grace@example.com').waitFor();

    await expect.poll(() => mails.received.length).toBe(1);
    const link = /http\S+invitations\/accept\?token=[\w-]+/.exec(mails.received[0]?.readable ?? '')?.[0] ?? '';
    const guest = await dashboard.visit();
    const { name } = (await dashboard.app.request('GET', '/api/v1/organizations/current', shop.as)).body.data;
    const other = await addMember(dashboard.app, shop.organizationId, 'viewer');
    const wrong = await dashboard.visit(other.token);
    await wrong.page.goto(link);
    await wrong.page.getByRole('alert').getByText('The invitation is for grace@example.com.').waitFor();
    expect(await wrong.page.getByRole('button', { name: 'Accept the invitation' }).count()).toBe(0);
    await dashboard.app.request('DELETE', `/api/v1/organizations/current/members/${other.id}`, shop.as);

    await guest.page.goto(link);
    await guest.page.getByRole('heading', { name: `Join ${name}` }).waitFor();
    await guest.page.getByText('Sign in as grace@example.com to accept.').waitFor();
    provider.account = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' };
    await guest.page.getByRole('button', { name: /^Continue with/ }).click();
    await guest.page.getByRole('button', { name: 'Accept the invitation' }).click();
    await guest.page.waitForURL(`**/o/${shop.slug}**`);

    const members = await dashboard.app.request('GET', '/api/v1/organizations/current/members', shop.as);
    expect(members.body.data).toMatchObject([{ role: 'owner' }, { email: 'grace@example.com', role: 'viewer' }]);

    // The link in the mail is opened again.
    await guest.page.goto(link);
    await guest.page.getByText('This invitation is not open any more').waitFor();
    await guest.page.getByRole('heading', { name: 'Invitation', exact: true }).waitFor();
    await guest.page.getByRole('link', { name: 'Go to Overview' }).click();
    await guest.page.waitForURL(`**/o/${shop.slug}`);
  });

  test('whose invitation came too late are led on: to the sign-in, or to where they belong already', {
    tags: 'long',
  }, async () => {
    const email = 'late@example.com';
    const before = mails.received.length;
    const invited = await dashboard.app.request('POST', '/api/v1/organizations/current/invites', {
      ...shop.as,
      body: { email },
    });
    await expect.poll(() => mails.received.length).toBe(before + 1);
    const link = /http\S+invitations\/accept\?token=[\w-]+/.exec(mails.received.at(-1)?.readable ?? '')?.[0] ?? '';
    const person = await signUp(dashboard.app, email);
    const change = (text: string, values: string[]) =>
      asOwner(dashboard.app.databaseUrl, (client) => client.query(text, values));
    await change(
      `insert into memberships (organization_id, user_id, role, joined_at, last_active_at, updated_at)
       values ($1, $2, 'viewer', now(), now(), now())`,
      [shop.organizationId, person.id],
    );
    const { page } = await dashboard.visit(person.token);
    await page.goto(link);
    await page.getByRole('button', { name: 'Accept the invitation' }).click();
    await page
      .getByRole('alert')
      .getByText(/^You belong to .* already\./)
      .waitFor();
    expect(await page.getByRole('button', { name: 'Accept the invitation' }).count()).toBe(0);
    await page.getByRole('link', { name: /^Open / }).click();
    await page.waitForURL(`**/o/${shop.slug}`);

    await change(`update invitations set expires_at = now() - interval '1 day' where id = $1`, [invited.body.data.id]);
    const guest = await dashboard.visit();
    await guest.page.goto(link);
    await guest.page.getByText('This invitation is over').waitFor();
    await guest.page.getByRole('link', { name: 'Sign in' }).click();
    await guest.page.getByRole('button', { name: /^Continue with/ }).waitFor();
    await change('delete from memberships where user_id = $1', [person.id]);
  });

  test('who may only look are offered nothing to do, and are told who can', async () => {
    await shop.backUp();
    const viewer = await addMember(dashboard.app, shop.organizationId, 'viewer');
    const { page } = await dashboard.visit(viewer.token);
    const pages = {
      projects: 'Projects',
      backups: 'Backups',
      storage: 'Storage',
      webhooks: 'Webhooks',
      team: 'Team',
      restores: 'Restores',
    };
    for (const [path, title] of Object.entries(pages)) {
      await goInside(page, shop.slug, `/${path}`);
      await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor();
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      const offers = page
        .locator('main')
        .getByRole('button', { name: /back up|add|connect|invite|import|delete|new restore/i });
      expect(await offers.count(), path).toBe(0);
    }
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    await goInside(page, shop.slug, '/audit');
    await page.getByRole('heading', { name: 'The audit log is for admins and the owner' }).waitFor();
    await page.getByText(/^You are a viewer of .* \(owner\) can change that\.$/).waitFor();
    await page.getByRole('link', { name: 'Go to Overview' }).waitFor();
    await goInside(page, shop.slug, '/restores/new');
    await page.getByText(/^You are a viewer of/).waitFor();
  });

  test('get another role when a button that names it is pressed, and not by passing over it', {
    tags: 'long',
  }, async () => {
    const member = await addMember(dashboard.app, shop.organizationId, 'member');
    const { page } = await dashboard.visit(shop.as.token);
    const roleNow = async () => {
      const all = await dashboard.app.request('GET', '/api/v1/organizations/current/members', shop.as);
      return all.body.data.find(({ userId }: { userId: string }) => userId === member.id).role;
    };
    await page.goto(`/o/${shop.slug}/team`);
    const row = page.getByRole('row').filter({ hasText: member.email });
    const open = () => row.getByRole('button', { name: /^Role of .*: / }).click();
    const dialog = page.getByRole('dialog');
    await open();
    expect(await dialog.getByRole('button', { name: 'Make them member' }).isDisabled()).toBe(true);
    for (const key of ['ArrowDown', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
    await dialog.getByText('may do less from the next click on').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await roleNow()).toBe('member');
    await open();
    await dialog.getByRole('radio', { name: /^Admin/ }).check({ force: true });
    await dialog.getByText('may do more from the next click on').waitFor();
    await dialog.getByRole('button', { name: 'Make them admin' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await roleNow()).toBe('admin');
    await open();
    await dialog.getByRole('radio', { name: /^Owner/ }).check({ force: true });
    await dialog.getByText('You become admin').waitFor();
    const transfer = dialog.getByRole('button', { name: 'Transfer ownership' });
    expect(await transfer.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(member.email);
    expect(await transfer.isDisabled()).toBe(false);
    expect(await findings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // The owner cannot change their own role.
    const own = page.getByRole('row').filter({ hasText: shop.owner.email });
    expect(await own.getByRole('button').count()).toBe(0);
    await dashboard.app.request('DELETE', `/api/v1/organizations/current/members/${member.id}`, shop.as);
  });

  test('whose session was ended elsewhere are asked to sign in, and return to where they were', async () => {
    const first = await dashboard.visit();
    provider.account = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' };
    await first.page.goto('/sign-in');
    await first.page.getByRole('button', { name: /^Continue with/ }).click();
    await first.page.waitForURL(`**/o/${shop.slug}**`);
    await first.page.goto(`/o/${shop.slug}/team`);
    await first.page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();

    const second = await dashboard.visit();
    await second.page.goto('/sign-in');
    await second.page.getByRole('button', { name: /^Continue with/ }).click();
    await second.page.waitForURL(`**/o/${shop.slug}**`);
    await second.page.goto('/account');
    const ends = second.page.getByRole('button', { name: 'End', exact: true });
    await ends.first().waitFor();
    for (let left = await ends.count(); left > 0; left--) {
      await ends.first().click();
      await expect.poll(() => ends.count()).toBe(left - 1);
    }

    await first.page.getByRole('link', { name: 'Projects' }).first().click();
    await first.page.getByText('Your session has ended').waitFor();
    await first.page.getByRole('button', { name: /^Continue with/ }).click();
    await first.page.waitForURL(`**/o/${shop.slug}/projects`);
  });

  test('who sign out are refused nothing on the way, and are not told that something ended', {
    tags: 'long',
  }, async () => {
    const { page } = await dashboard.visit();
    provider.account = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' };
    await page.goto('/sign-in');
    await page.getByRole('button', { name: /^Continue with/ }).click();
    await page.waitForURL(`**/o/${shop.slug}**`);
    await page.goto(`/o/${shop.slug}/account`);
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url());
    });
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    await page.getByRole('button', { name: /^Continue with/ }).waitFor();
    await page.waitForTimeout(1500);
    expect(refused).toEqual([]);
    await page.goBack();
    await page.waitForURL('**/sign-in');
    expect(await page.getByText('Your session has ended').count()).toBe(0);
  });

  test('end one session, or all but the one they use', async () => {
    const owner = await dashboard.visit(shop.as.token);
    const live = () =>
      asOwner(dashboard.app.databaseUrl, async (client) => {
        const { rows } = await client.query('select id from sessions where user_id = $1 and revoked_at is null', [
          shop.owner.id,
        ]);
        return rows.length;
      });
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query(
        `insert into sessions (id, user_id, created_at, last_used_at, expires_at)
         select 'ses_' || lpad(n::text, 26, 'Z'), user_id, created_at, last_used_at, expires_at
         from sessions, generate_series(1, 3) n where user_id = $1`,
        [shop.owner.id],
      ),
    );
    await owner.page.goto('/account');
    const ends = owner.page.getByRole('button', { name: 'End', exact: true });
    await expect.poll(() => ends.count()).toBe(3);
    await ends.first().click();
    await expect.poll(() => ends.count()).toBe(2);
    await owner.page.getByRole('button', { name: 'End all others' }).click();
    await expect.poll(() => ends.count()).toBe(0);
    expect(await live()).toBe(1);
    await owner.page.goto(`/o/${shop.slug}/team`);
    await owner.page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
  });

  test('who say no at the provider read on a page that nothing was shared, and may try again', {
    tags: 'long',
  }, async () => {
    const { page } = await dashboard.visit();
    provider.account = undefined;
    await page.goto('/sign-in');
    await page.getByRole('button', { name: /^Continue with/ }).click();
    await page.getByText('You said no, and nothing was shared').waitFor();
    provider.account = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' };
    await page.getByRole('button', { name: /^Continue with/ }).click();
    await page.waitForURL(`**/o/${shop.slug}**`);
  });
});
