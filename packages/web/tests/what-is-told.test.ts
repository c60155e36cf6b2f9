// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('what was done is told as it was', () => {
  let dashboard: TestDashboard;
  let owner: Visitor;
  let shop: Shop;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (let n = 0; n < 12; n++) await shop.documents.doc(`bikes/B-${n}`).set({ n });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('a restore that is stopped by hand is no failure, says by whom, and leads on to its undo', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const body = { backupId, collections: ['bikes'] };
    const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
    await page.goto(`/o/${shop.slug}/restores/${made.body.data.id}`);
    await page.getByText('0 of 12 documents').waitFor();
    await page.getByRole('button', { name: 'Stop and undo…' }).click();
    const dialog = page.getByRole('dialog');
    // "Cancel" would be ambiguous in a dialog about stopping.
    await dialog.getByRole('button', { name: 'Let it run' }).waitFor();
    await dialog.getByRole('button', { name: 'Stop', exact: true }).click();
    const isAsked = async () =>
      (await dashboard.app.request('GET', '/api/v1/audit-logs?action=restore.cancelled', shop.as)).body.data.length;
    await expect.poll(isAsked).toBe(1);
    release();
    shop.firestore.control.clearFaults();
    await page.getByRole('heading', { name: 'Undo this restore?' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(`Stopped by ${shop.owner.email}`).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByText('CANCELLED').count()).toBe(0);
  });

  test('the log says what a restore was of, from where, into what and how, and stands in its chain', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/audit`);
    const rowOf = (action: string) => page.getByRole('row').filter({ hasText: action });
    await rowOf('restore.cancelled').filter({ hasText: 'Restore of bikes' }).waitFor();
    await rowOf('restore.stopped')
      .filter({ hasText: `Restore of bikes, as ${shop.owner.email} asked` })
      .waitFor();
    await rowOf('backup.completed').filter({ hasText: 'Backup of Shop' }).first().waitFor();
    await page.getByText(/Kept for \d+ days/).waitFor();
    await rowOf('restore.created').filter({ hasText: 'Restore of bikes' }).last().getByRole('button').click();
    await page.getByText('Overwrite, safety backup first').waitFor();
    await page.getByText('Entry after').waitFor();
    const { data } = (await dashboard.app.request('GET', '/api/v1/audit-logs?limit=2', shop.as)).body;
    expect(data[0].previousHash).toBe(data[1].hash);
  });

  test('what went wrong stays said while the page asks again by itself', async () => {
    const { page } = owner;
    let asked = 0;
    await page.route('**/pitr', async (route) => {
      asked++;
      // Retries after the first answer take a while.
      if (asked > 3) await new Promise((resolve) => setTimeout(resolve, 4000));
      const error = { code: 'INTERNAL_ERROR', message: 'No.', requestId: 'req_1' };
      await route.fulfill({ status: 503, json: { success: false, error } }).catch(() => undefined);
    });
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/time`);
    const said = page.getByRole('alert').getByText('INTERNAL_ERROR');
    await said.waitFor();
    const before = asked;
    await expect.poll(() => asked).toBeGreaterThan(before);
    await page.waitForTimeout(1000);
    expect(await said.count()).toBe(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByRole('heading', { name: 'Point-in-time recovery is off' }).waitFor();
  });

  test('characters that turn the direction of a text are shown, and turn nothing around them', async () => {
    const { page } = owner;
    await shop.documents.doc('odd/turned').set({ '\u202Eoverride': 'a\u202Eb' });
    await shop.backUp();
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/odd/turned`);
    await page.getByRole('row', { name: /U\+202E ?override/ }).waitFor();
    // Backups differ by their time, and the column is narrow.
    const inside = page.getByRole('combobox', { name: 'Inside this backup' }).locator('option').first();
    await expect.poll(() => inside.textContent()).toMatch(/^\d+ \w+ \d\d:\d\d$/);
    const [value] = await page.getByRole('cell').filter({ hasText: 'U+202E' }).allInnerTexts();
    expect(value?.replaceAll(/\s/g, '')).toContain('"aU+202Eb"');
  });

  test('a backup that could not be read is not said to be damaged', async () => {
    const { page } = owner;
    const call = (method: string, path: string, body?: object) =>
      dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });
    const ownKey = '/organizations/current/encryption-key';
    await call('PUT', ownKey, { passphrase: 'a sentence that nobody guesses' });
    const backupId = await shop.backUp();
    await call('DELETE', ownKey);
    await page.goto(`/o/${shop.slug}/backups/${backupId}`);
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await page.getByText('DECRYPTION_ERROR').first().waitFor();
    await page.getByText('Could not be read').first().waitFor();
    expect(await page.getByText(/Not whole|Use another backup|found faults/).count()).toBe(0);
    await call('PUT', ownKey, { passphrase: 'a sentence that nobody guesses' });
    await call('DELETE', `/backups/${backupId}`);
  });

  test('a comparison of one collection says so, and leads to that of everything', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    await shop.documents.doc('riders/new').set({ n: 1 });
    await goInside(page, shop.slug, `/backups/${backupId}/compare?against=live&collection=bikes`);
    await page.getByRole('heading', { name: 'Nothing differs in bikes.' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters: Collection' }).click();
    const path = page.getByRole('link', { name: 'riders/new' });
    await path.waitFor();
    await page.setViewportSize(phone);
    // The path has its own line.
    const below = async () => (await page.getByText('Only there now', { exact: true }).boundingBox())?.y ?? 0;
    await expect.poll(below).toBeGreaterThan(((await path.boundingBox())?.y ?? 0) + 10);
    await page.setViewportSize(desktop);
  });

  test('a comparison says how far it is while it runs', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    const held = Promise.withResolvers<void>();
    shop.firestore.control.addFault({ method: 'RunQuery', until: held.promise });
    await goInside(page, shop.slug, `/backups/${backupId}/compare`);
    await page.getByRole('progressbar', { name: 'Comparing' }).waitFor();
    await page.getByText(/^0 of \d+ documents of the backup compared$/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    shop.firestore.control.clearFaults();
    held.resolve();
    await page.getByRole('heading', { name: 'Nothing differs.' }).waitFor();
    expect(await page.getByRole('progressbar').count()).toBe(0);
  });

  test('a long comparison is not made again by itself when somebody comes back to its window', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    let pages = 0;
    const diff = { against: 'live', added: [], removed: [], changed: [], compared: 1 };
    await page.route(/\/diff\?/, (route) => {
      pages += 1;
      const nextCursor = pages < 6 ? `page ${pages}` : null;
      const pagination = { nextCursor, hasMore: nextCursor !== null, limit: 100 };
      return route.fulfill({ json: { success: true, data: diff, pagination } });
    });
    await goInside(page, shop.slug, `/backups/${backupId}/compare`);
    await page.getByRole('heading', { name: 'Nothing differs.' }).waitFor();
    expect(pages).toBe(6);
    const readAgain = page.waitForResponse((response) => response.url().endsWith(`/backups/${backupId}`));
    await page.evaluate(`(() => {
      const now = Date.now;
      Date.now = () => now() + 600_000;
      window.dispatchEvent(new Event('visibilitychange'));
      Date.now = now;
    })()`);
    await readAgain;
    expect(pages).toBe(6);
    await page.unroute(/\/diff\?/);
  });

  test('a comparison names the other backup before the list of all of them has been read', async () => {
    const { page } = owner;
    const [backupId, against] = [await shop.backUp(), await shop.backUp()];
    await page.route(/\/api\/v1\/backups\?/, () => {});
    await goInside(page, shop.slug, `/backups/${backupId}/compare?against=${against}`);
    await page.getByText(/^What changed from \d+ \w+ \d+ [\d:]+ to \d+ \w+ \d+ [\d:]+\.$/).waitFor();
    expect(await page.getByRole('combobox', { name: /^With/ }).inputValue()).toBe(against);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('ages are told by the clock of the service, where that of the browser is hours off', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    await page.addInitScript(`{
      const now = Date.now;
      Date.now = () => now() + 5 * 3_600_000;
    }`);
    await shop.backUp();
    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('row').filter({ hasText: 'Shop' }).first().getByRole('time').first().hover();
    await page.getByRole('tooltip').getByText('just now').waitFor();
  });

  test('a document whose versions cannot be read is still named, with what to do', async () => {
    const { page } = owner;
    const error = { code: 'SERVICE_UNAVAILABLE', message: 'It stops.' };
    await page.route(/\/api\/v1\/projects\//, (route) =>
      route.fulfill({ status: 503, json: { success: false, error } }),
    );
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bikes/B-9`);
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    await page.getByRole('heading', { name: 'bikes/B-9', level: 1 }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('a document is ticked where it was picked, and picking it elsewhere takes the version from there', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    const [older, newer] = [await shop.backUp(), await shop.backUp()];
    const tick = page.getByRole('checkbox', { name: 'Pick for the basket: bikes/B-1', exact: true });
    const picked = () =>
      page.evaluate(
        (key) => JSON.parse(sessionStorage.getItem(key) ?? '{}').items,
        `holdfast.basket.${shop.as.organizationId}`,
      );
    await page.goto(`/o/${shop.slug}/backups/${older}/browse/bikes`);
    await tick.check();
    expect(await picked()).toMatchObject([{ path: 'bikes/B-1', backupId: older }]);
    await page.goto(`/o/${shop.slug}/backups/${newer}/browse/bikes`);
    await tick.waitFor();
    expect(await tick.isChecked()).toBe(false);
    await tick.check();
    expect(await picked()).toMatchObject([{ path: 'bikes/B-1', backupId: newer }]);
    await tick.uncheck();
    await page.getByRole('link', { name: /selected…/ }).waitFor({ state: 'detached' });
  });

  test('a document that cannot be picked beside those of another project says why, and how it can', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    await shop.documents.doc('bikes/B-2').set({ n: 2, gear: 'good' });
    await shop.backUp();
    await shop.documents.doc('bikes/B-2').set({ n: 2, gear: 'broken' });
    const picked = {
      projectId: 'prj_other',
      items: [{ path: 'riders/one', backupId: 'bkp_other', from: 'yesterday' }],
    };
    await page.goto(`/o/${shop.slug}`);
    await page.evaluate(
      ([key, basket]) => sessionStorage.setItem(key as string, basket as string),
      [`holdfast.basket.${shop.as.organizationId}`, JSON.stringify(picked)],
    );
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/bikes/B-2`);
    await page.getByText('The basket holds documents of another project.').waitFor();
    const pick = page.getByRole('button', { name: 'Pick for the basket' });
    expect(await pick.count()).toBe(0);
    await page.getByRole('button', { name: 'Empty the basket' }).click();
    await pick.click();
    await page.getByRole('button', { name: '1 document picked' }).waitFor();
  });

  test('what was saved is said to be until something else is typed', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings`);
    const name = page.getByLabel('Name of the organization');
    await name.fill('Riders');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const saved = page.getByText('Saved', { exact: true });
    await saved.waitFor();
    await name.fill('Riders and more');
    await saved.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await saved.waitFor();
  });

  test('an export that breaks off is told', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    await page.goto(`/o/${shop.slug}/backups/${backupId}`);
    await page.evaluate(`(() => {
      const { fetch } = window;
      window.fetch = async (input, init) => {
        if (!String(input).includes('/export')) return fetch(input, init);
        window.fetch = fetch;
        const body = new ReadableStream({
          start: (stream) => stream.enqueue(new TextEncoder().encode('{}\\n')),
          pull: (stream) => stream.error(new Error('reset')),
        });
        return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } });
      };
    })()`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: /Export/ }).click();
    await page
      .getByRole('alert')
      .getByText(/broke off/)
      .waitFor();
  });

  test('a key that got lost on its way is said to be lost', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings?tab=key`);
    let isDone = false;
    await page.route('**/service-account', async (route) => {
      if (route.request().method() !== 'POST' || isDone) return route.continue();
      isDone = true;
      // The call is carried out, but a proxy loses the answer: it is repeated.
      await route.fetch();
      await route.fulfill({ status: 503, body: '' });
    });
    await page.getByLabel('Name', { exact: true }).fill('Nightly script');
    await page.getByRole('button', { name: 'Create API key' }).click();
    const dialog = page.getByRole('dialog', { name: 'The API key' });
    await dialog.getByText('lost').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'New key' }).click();
    await page.locator('[data-secret]').waitFor();
  });

  const request = (method: string, path: string, body?: object) =>
    dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });

  /** Holds back the answer of a call until it is released. */
  async function held(url: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    await owner.page.route(url, async (route) => {
      if (route.request().method() === 'GET') return route.fallback();
      const response = await route.fetch();
      await promise;
      await route.fulfill({ response });
    });
    return resolve;
  }

  test('an answer that comes when its page was left leads nobody away', async () => {
    const { page } = owner;
    const schedule = { projectId: shop.projectId, name: 'Nightly', cron: '0 2 * * *' };
    const { id } = (await request('POST', '/schedules', schedule)).body.data;
    await page.goto(`/o/${shop.slug}/schedules/${id}`);
    const letGo = await held('**/schedules/*/run');
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('link', { name: 'Team' }).first().click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    const answered = page.waitForResponse('**/schedules/*/run');
    letGo();
    await answered;
    // The refetch after the answer comes after any navigation it might cause.
    await page.waitForResponse('**/api/v1/**');
    expect(new URL(page.url()).pathname).toBe(`/o/${shop.slug}/team`);
    await page.unrouteAll({ behavior: 'wait' });
    await request('DELETE', `/schedules/${id}`);
  });

  test('a page is not left unasked while its secret is being made', async () => {
    const { page } = owner;
    await request('DELETE', '/organizations/current/service-account');
    await page.goto(`/o/${shop.slug}/settings?tab=key`);
    const letGo = await held('**/service-account');
    await page.getByLabel('Name').fill('CI');
    await page.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('link', { name: 'Team' }).first().click();
    const question = page.getByRole('dialog', { name: 'Leave before the secret is shown?' });
    await question.getByRole('button', { name: 'Stay here' }).click();
    letGo();
    await page
      .getByRole('dialog', { name: 'The API key' })
      .getByText(/^fb_sa_/)
      .waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await request('DELETE', '/organizations/current/service-account');
  });
});
