import { hourMs } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addMember } from '../../server/testing/team.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('in the middle of something', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  const request = (method: string, path: string, body?: object) =>
    dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    await shop.backUp();
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('a service that cannot renew the session just now has not ended it', async () => {
    const { page, context } = owner;
    await page.goto(`/o/${shop.slug}/team`);
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    const refuse = (status: number, code: string) => ({
      status,
      contentType: 'application/json',
      body: JSON.stringify({ success: false, error: { code, message: 'No.', requestId: 'req_1' } }),
    });
    const isCall = (url: URL) => url.pathname.startsWith('/api/v1/');
    await context.route(isCall, (route) => route.fulfill(refuse(401, 'UNAUTHORIZED')));
    await context.route('**/auth/refresh', (route) => route.fulfill(refuse(502, 'INTERNAL_ERROR')));
    // A list that the shell has not read yet: cached rows would stay.
    await page.getByRole('link', { name: 'Schedules' }).first().click();
    await page.getByRole('alert').getByText('INTERNAL_ERROR').first().waitFor();
    expect(new URL(page.url()).pathname).toBe(`/o/${shop.slug}/schedules`);
    await context.unroute('**/auth/refresh');
    await context.unroute(isCall);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByRole('heading', { name: 'No schedules yet' }).waitFor();
  });

  test('what somebody types stays when the same thing is changed elsewhere, and a form nobody touched follows', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    const name = page.getByLabel('Name', { exact: true });
    await request('PATCH', `/projects/${shop.projectId}`, { name: 'Renamed by a colleague' });
    await expect.poll(() => name.inputValue()).toBe('Renamed by a colleague');
    await name.fill('Half of a na');
    await request('PATCH', `/projects/${shop.projectId}`, { name: 'Shop' });
    await page.getByRole('heading', { name: 'Shop', level: 1 }).waitFor();
    expect(await name.inputValue()).toBe('Half of a na');
    await name.fill('Shop by hand');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('heading', { name: 'Shop by hand', level: 1 }).waitFor();
    await request('PATCH', `/projects/${shop.projectId}`, { name: 'Shop' });
    await expect.poll(() => name.inputValue()).toBe('Shop');
  });

  test('what was refused stays as it was typed, however often colleagues save meanwhile', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const path = `/projects/${shop.projectId}`;
    await page.goto(`/o/${shop.slug}${path}`);
    const name = page.getByLabel('Name', { exact: true });
    const error = { code: 'CONFLICT', message: 'Not now.', requestId: 'req_1' };
    await page.route(`**/api/v1${path}`, (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({ status: 409, json: { success: false, error } })
        : route.fallback(),
    );
    await name.fill('Typed by hand');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('CONFLICT').first().waitFor();
    for (const saved of ['Once', 'Twice']) {
      await request('PATCH', path, { name: saved });
      await page.getByRole('heading', { name: saved, level: 1 }).waitFor();
    }
    expect(await name.inputValue()).toBe('Typed by hand');
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('heading', { name: 'Typed by hand', level: 1 }).waitFor();
    await request('PATCH', path, { name: 'Shop' });
  });

  test('a form of settings that nobody touched shows what a colleague has saved', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings?tab=notifications`);
    await page.getByText('These addresses').waitFor();
    const notifications = { emails: ['night@example.com'], events: ['backup.failed'] };
    await request('PUT', '/organizations/current', { settings: { notifications } });
    await expect.poll(() => page.getByLabel('E-mail addresses').inputValue()).toBe('night@example.com');
    await request('PUT', '/organizations/current', { settings: { notifications: null } });
  });

  test('a search that has not come to its end does not say that there is nothing', { tags: 'long' }, async () => {
    const { page } = owner;
    const [backup] = (await request('GET', '/backups')).body.data;
    const [document] = (await request('GET', `/backups/${backup.id}/documents?collection=bikes`)).body.data;
    await page.route(/\/documents\?collection=bikes/, async (route) => {
      if (new URL(route.request().url()).searchParams.has('cursor')) {
        const pagination = { nextCursor: null, hasMore: false };
        return route.fulfill({ json: { success: true, data: [document], pagination } });
      }
      const pagination = { nextCursor: 'behind', hasMore: true };
      return route.fulfill({ json: { success: true, data: [], pagination } });
    });
    await page.goto(`/o/${shop.slug}/find?q=bikes`);
    await page.getByText('Not everything has been searched yet.').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Search further' }).click();
    await page.getByRole('main').getByRole('link', { name: document.path }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('what somebody types outlives their session, and is saved once they are back', { tags: 'long' }, async () => {
    const { page, context } = owner;
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByLabel('Name', { exact: true }).fill('Typed before the end');
    const cookies = await context.cookies();
    await context.clearCookies();
    await page.getByRole('button', { name: 'Save' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'I have signed in' }).click();
    await dialog.getByText('What you typed is still here').waitFor();
    await dialog.getByText('Nobody is signed in yet').waitFor();
    expect(await dialog.getByRole('button', { name: 'Close' }).count()).toBe(0);
    await context.addCookies(cookies);
    await dialog.getByRole('button', { name: 'I have signed in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Typed before the end', level: 1 }).waitFor();
    const saved = await request('GET', `/projects/${shop.projectId}`);
    expect(saved.body.data.name).toBe('Typed before the end');
    await request('PATCH', `/projects/${shop.projectId}`, { name: 'Shop' });
  });

  test('a restore that is being planned is where its address says, after Back and in another window', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const { id: backupId } = (await request('GET', '/backups')).body.data[0];
    await page.goto(`/o/${shop.slug}/restores/new?backupId=${backupId}`);
    const asks = (question: string) => page.getByRole('heading', { name: question, level: 2 }).waitFor();
    const goOn = () => page.getByRole('button', { name: 'Continue', exact: true }).click();
    await asks('What is brought back?');
    await goOn();
    await asks('Where is it written?');
    await goOn();
    await asks('What becomes of what is there now?');
    await page.getByText('Only what is missing').first().click();
    await goOn();
    await asks('Nothing would change');
    const another = await dashboard.visit(shop.as.token);
    await another.page.goto(page.url());
    await another.page.getByRole('heading', { name: 'Nothing would change', level: 2 }).waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await asks('What becomes of what is there now?');
    expect([...new URL(page.url()).searchParams.keys()].toSorted()).toEqual(['backupId', 'mode', 'step']);
    await goOn();
    await asks('Nothing would change');
    await page.goBack();
    await asks('What becomes of what is there now?');
    const safety = page.getByRole('checkbox', { name: /Save what is overwritten first/ });
    await safety.uncheck();
    await page.getByRole('complementary').getByText('Off: this cannot be undone').waitFor();
    await goOn();
    await asks('Nothing would change');
    await page.goBack();
    await asks('What becomes of what is there now?');
    expect(await safety.isChecked()).toBe(false);
    expect(await page.getByRole('radio', { name: /Only what is missing/ }).isChecked()).toBe(true);
    await page.goto(page.url().replace('step=how', 'step=where'));
    await asks('Where is it written?');
    await page.reload();
    await asks('Where is it written?');
  });

  test('the way back leads past a dialog that was closed, and closes one that is open', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects`);
    await page.getByRole('link', { name: 'Backups', exact: true }).first().click();
    const open = page.getByRole('button', { name: 'Back up now' }).first();
    await open.click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await open.evaluate((element) => element.matches(':focus'))).toBe(true);
    await page.goBack();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await open.click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Backups', level: 1 }).waitFor();
  });

  test('a double click does a thing once', async () => {
    const { page } = owner;
    const known = (await request('GET', '/schedules')).body.data.length;
    await page.goto(`/o/${shop.slug}/schedules/new`);
    await page.getByRole('button', { name: 'Save schedule' }).dblclick();
    await page.waitForURL('**/schedules/sch_*');
    expect((await request('GET', '/schedules')).body.data).toHaveLength(known + 1);
  });

  test('an address that names a project which is not there shows no other in its place', async () => {
    const { page } = owner;
    for (const path of ['projects/prj_nope/time?at=2026-01-01T00:00:00.000Z', 'find?project=prj_nope&q=a/b']) {
      await page.goto(`/o/${shop.slug}/${path}`);
      await page.getByRole('heading', { name: 'This project is not connected here' }).waitFor();
      expect(await page.getByRole('link', { name: /^Restore to/ }).count()).toBe(0);
    }
  });

  test('another organization shows nothing of the one before it, however long its own takes to arrive', async () => {
    const founded = await request('POST', '/organizations', { name: 'Elsewhere' });
    const { id, slug } = founded.body.data;
    const { page } = owner;
    await page.goto(`/o/${shop.slug}`);
    const { name } = (await request('GET', `/projects/${shop.projectId}`)).body.data;
    const ofShop = page.getByRole('main').getByText(name, { exact: true });
    await ofShop.first().waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/api/v1/**', async (route) => {
      const isElsewhere = route.request().headers()['x-organization-id'] === id;
      if (isElsewhere && /\/(overview|projects|organizations\/current)(\?|$)/.test(route.request().url()))
        await promise;
      await route.continue();
    });
    await page.getByRole('button', { name: /Choose an organization/ }).click();
    await page.getByRole('menuitem', { name: 'Elsewhere' }).click();
    await page.waitForURL(`**/o/${slug}**`);
    await expect.poll(() => ofShop.count()).toBe(0);
    resolve();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('what is shown under the name of a document is never what another holds', { tags: 'long' }, async () => {
    const { page } = owner;
    await shop.documents.doc('bikes/two').set({ number: 2222 });
    const backupId = await shop.backUp();
    await shop.documents.doc('bikes/one').delete();
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.goto(`/o/${shop.slug}/backups/${backupId}/browse/bikes/two`);
    await page.getByRole('region', { name: 'bikes/two' }).getByText('2222').waitFor();
    await page.route(/documents\/bikes\/one|history\?.*one/, async (route) => {
      await promise;
      await route.continue();
    });
    await page.getByRole('link', { name: 'one', exact: true }).click();
    await page.getByRole('region', { name: 'bikes/one' }).waitFor();
    expect(await page.getByRole('region', { name: 'bikes/one' }).getByText('2222').count()).toBe(0);

    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/bikes/two`);
    const versions = page.getByRole('heading', { name: 'Versions' });
    await versions.waitFor();
    await page.getByRole('complementary').getByLabel('Beginning of an id').fill('');
    await page.getByRole('complementary').getByRole('link', { name: 'one', exact: true }).click();
    await page.waitForURL('**/bikes/one');
    await expect.poll(() => versions.count()).toBe(0);
    resolve();
    await versions.waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('what overwrites is not started before its name is typed, though the name has not arrived', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    const [document] = (await request('GET', `/backups/${backupId}/documents?collection=bikes`)).body.data;
    await shop.documents.doc(document.path).set({ number: 999 });
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(/\/api\/v1\/projects\?/, async (route) => {
      await promise;
      await route.continue();
    });
    await page.goto(`/o/${shop.slug}/restores/new?backupId=${backupId}&step=confirm`);
    const restore = page.getByRole('main').getByRole('button', { name: /^Restore/ });
    await restore.waitFor();
    expect(await restore.isDisabled()).toBe(true);
    resolve();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('a plan is changed when it is saved, not on the way past it', async () => {
    const { page } = owner;
    const planNow = async () => (await request('GET', '/organizations/current/subscription')).body.data.plan;
    const before = await planNow();
    await page.goto(`/o/${shop.slug}/settings?tab=plan`);
    const [other] = ['starter', 'professional'].filter((plan) => plan !== before);
    await page.getByLabel('Plan', { exact: true }).selectOption(other ?? '');
    await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
    expect(await planNow()).toBe(before);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(planNow).toBe(other);
    await request('PUT', '/organizations/current/subscription', { plan: before });
  });

  test('the palette knows ids, and gives the focus back to where it was', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    const filter = page.getByLabel('Status').first();
    await filter.focus();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).waitFor();
    await page.getByRole('combobox', { name: 'Find anything' }).fill(shop.projectId);
    await page.getByRole('option', { name: `Open ${shop.projectId}` }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => filter.evaluate((element) => element.matches(':focus'))).toBe(true);
  });

  test('a role that is taken away takes its buttons along', { tags: 'long' }, async () => {
    const admin = await addMember(dashboard.app, shop.organizationId, 'admin');
    const { page } = await dashboard.visit(admin.token);
    await page.goto(`/o/${shop.slug}/team`);
    await page.getByRole('button', { name: 'Invite' }).waitFor();
    await request('PUT', `/organizations/current/members/${admin.id}`, { role: 'viewer' });
    await page.getByRole('button', { name: 'Invite' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
  });

  test('a project that is deleted elsewhere is said to be gone, with the way to the others', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const { host, port } = shop.firestore;
    const made = await request('POST', '/projects', {
      name: 'Short-lived',
      sourceProjectId: 'short-lived',
      connection: { type: 'emulator', host: `${host}:${port}` },
    });
    const id = made.body.data.id as string;
    await page.goto(`/o/${shop.slug}/projects/${id}`);
    await page.getByRole('heading', { name: 'Short-lived', level: 1 }).waitFor();
    await request('DELETE', `/projects/${id}`);
    await page.getByText('PROJECT_NOT_FOUND').waitFor();
    await page
      .getByRole('link', { name: /Projects/ })
      .last()
      .waitFor();
    expect(await page.getByRole('button', { name: 'Back up now' }).count()).toBe(0);
  });

  test('times are told in the zone of the organization, wherever the browser is', { tags: 'long' }, async () => {
    await request('PUT', '/organizations/current', { settings: { timezone: 'Asia/Kathmandu' } });
    const { page } = await dashboard.visit(shop.as.token);
    await page.goto(`/o/${shop.slug}/backups`);
    const [{ snapshotTime }] = (await request('GET', '/backups')).body.data;
    const aheadMs = 5.75 * hourMs;
    const shown = new Date(Date.parse(snapshotTime) + aheadMs).toISOString().slice(11, 19);
    await page.getByText(shown).first().waitFor();
  });
});
