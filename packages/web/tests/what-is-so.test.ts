// @module-tag long
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('what a page says is so', () => {
  let dashboard: TestDashboard;
  let owner: Visitor;
  let shop: Shop;
  let backupId: string;
  let staging: string;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (let n = 0; n < 4; n++) await shop.documents.doc(`bikes/B-${n}`).set({ n });
    await shop.documents.doc('drafts/D-1').set({ n: 1 });
    backupId = await shop.backUp();
    await shop.documents.doc('bikes/B-1').set({ n: 100 });
    staging = await connect('Staging');
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  const request = (method: string, path: string, body?: object) =>
    dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });

  async function connect(name: string): Promise<string> {
    const { host, port } = shop.firestore;
    const connection = { type: 'emulator', host: `${host}:${port}` };
    const made = await request('POST', '/projects', { name, sourceProjectId: name.toLowerCase(), connection });
    return made.body.data.id as string;
  }

  async function restore(body: object) {
    const made = await request('POST', '/backups/restore', { backupId, ...body });
    return untilEnded(dashboard.app, `/api/v1/backups/restore/${made.body.data.id}`, shop.as);
  }

  /** Answers with the service's own answer, changed. */
  const answerWith = (page: Page, path: RegExp, change: (data: never) => unknown) =>
    page.route(path, async (route: Route) => {
      const response = await route.fetch();
      const body = await response.json();
      await route.fulfill({ response, json: { ...body, data: change(body.data as never) } });
    });

  test('a dry run is done for real as it was tried: into the same place and in the same way', async () => {
    const { page } = owner;
    const options = { dryRun: true, mergeMode: 'skip_existing' };
    const tried = await restore({ targetProjectId: staging, collections: ['bikes'], options });
    await page.goto(`/o/${shop.slug}/restores/${tried.id}`);
    await page.getByRole('link', { name: 'Do it for real…' }).click();
    await page.getByRole('heading', { name: 'What becomes of what is there now?', level: 2 }).waitFor();
    expect(await page.getByRole('radio', { name: /^Only what is missing/ }).isChecked()).toBe(true);
    await page.getByText('Then this restore can be undone.').waitFor();
    await page.getByRole('complementary').getByText('Staging', { exact: true }).waitFor();
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&step=how`);
    await page.getByText('Every collection in it becomes exactly what it was.').waitFor();
    // The form cannot express this dry run, so the page does not offer it.
    const narrow = await restore({ collections: ['bikes'], options: { dryRun: true, includeSubcollections: false } });
    await goInside(page, shop.slug, `/restores/${narrow.id}`);
    await page.getByRole('heading', { name: /^Dry run/ }).waitFor();
    expect(await page.getByRole('link', { name: 'Do it for real…' }).count()).toBe(0);
  });

  test('a database whose id is not known is not overwritten: there is nothing that could be typed', async () => {
    const { page } = owner;
    await page.route(/\/api\/v1\/projects\?/, (route) => route.fulfill({ status: 503, json: {} }));
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&collections=bikes&step=confirm`);
    const button = page.getByRole('button', { name: /^Restore \d+ documents?$/ });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('an undo is not promised once its safety backup is gone', async () => {
    const { page } = owner;
    const done = await restore({ collections: ['bikes'] });
    await goInside(page, shop.slug, `/restores/${done.id}`);
    await page.getByRole('heading', { name: 'You can undo this' }).waitFor();
    const removed = await request('DELETE', `/backups/${done.safetyBackupId}`);
    expect(removed.status).toBe(200);
    await expect.poll(async () => (await request('GET', `/backups/${done.safetyBackupId}`)).status).toBe(404);
    await page.reload();
    await page.getByRole('heading', { name: 'This can no longer be undone' }).waitFor();
    expect(await page.getByRole('button', { name: 'Undo…' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Look inside it' }).count()).toBe(0);
  });

  test('the newest hash of the log is that of the whole log, whatever is filtered', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/audit?action=backup.completed`);
    await page.getByText('Newest hash').waitFor();
    const { data } = (await request('GET', '/audit-logs?limit=1')).body;
    expect(data[0].action).not.toBe('backup.completed');
    await page.getByText(data[0].hash.slice(0, 8)).waitFor();
  });

  test('the log can be asked for everything it may tell of, not only for what is in sight', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/audit`);
    const action = page.getByLabel('Action');
    await action.waitFor();
    const offered = await action.locator('option').allInnerTexts();
    expect(offered).toEqual(expect.arrayContaining(['backup.completed', 'restore.stopped', 'encryption_key.rotated']));
    await action.selectOption('encryption_key.rotated');
    await page.getByRole('button', { name: 'Clear filters', exact: true }).waitFor();
    expect((await request('GET', '/audit-logs?action=encryption_key.rotated')).body.data).toEqual([]);
  });

  test('the path in the box is the one that was looked for, also after Back', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/find?project=${shop.projectId}&q=bikes/B-1`);
    const box = page.getByRole('textbox', { name: 'Path' });
    await page.getByRole('link', { name: 'bikes/B-1' }).waitFor();
    await box.fill('bikes/B-2');
    await box.press('Enter');
    await page.getByRole('link', { name: 'bikes/B-2' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'bikes/B-1' }).waitFor();
    expect(await box.inputValue()).toBe('bikes/B-1');
  });

  test('what a backup leaves out is said, and so is that its project is gone', async () => {
    const { page } = owner;
    const former = await connect('Former');
    const body = { projectId: shop.projectId, excludeCollections: ['drafts'], includeSubcollections: false };
    const part = await request('POST', '/backups', body);
    await untilEnded(dashboard.app, `/api/v1/backups/${part.body.data.id}`, shop.as);
    await goInside(page, shop.slug, `/backups/${part.body.data.id}`);
    await page.getByText('All but drafts, without subcollections').waitFor();

    const whole = await request('POST', '/backups', { projectId: former });
    await untilEnded(dashboard.app, `/api/v1/backups/${whole.body.data.id}`, shop.as);
    await request('DELETE', `/projects/${former}`);
    await goInside(page, shop.slug, `/backups/${whole.body.data.id}`);
    await page.getByText('A former project').first().waitFor();
    await goInside(page, shop.slug, `/restores/new?backupId=${whole.body.data.id}&step=what`);
    const chosen = page.getByLabel('Project').locator('option:checked');
    await expect.poll(() => chosen.textContent()).toBe('A former project');
    await goInside(page, shop.slug, `/backups?project=${former}`);
    await expect.poll(() => page.getByLabel('Project').locator('option:checked').textContent()).toBe(former);
  });

  test('of a capture that stands still, only what it reached can be gone back to', async () => {
    const { page } = owner;
    const reached = {
      enabled: true,
      status: 'error',
      coveredFrom: '2025-11-10T08:00:00.000Z',
      coveredTo: '2025-11-16T09:00:00.000Z',
      gaps: [{ from: '2025-11-12T10:00:00.000Z', to: '2025-11-14T09:30:00.000Z', reason: 'The service was away.' }],
    };
    await answerWith(page, /\/projects\/[^/]+\/pitr/, (data: object) => ({ ...data, ...reached, retentionDays: 7 }));
    await answerWith(page, /\/api\/v1\/projects(\?|\/prj_[^/]+$)/, (data: { id: string }[] | object) =>
      Array.isArray(data)
        ? data.map((one) => (one.id === shop.projectId ? { ...one, pitr: reached } : one))
        : { ...data, pitr: reached },
    );
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/time`);
    await page
      .getByText('Shop can be put back to any second from 10 Nov 2025 08:00:00 to 16 Nov 2025 09:00:00, but for 1 gap.')
      .waitFor();
    await page.getByText('Gap on 12 Nov 2025, 10:00:00 to 14 Nov 2025, 09:30:00').waitFor();
    await page.goto(`/o/${shop.slug}`);
    await page.getByText('until 16 Nov 2025 09:00, 1 gap').waitFor();
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bikes/B-1`);
    await page.getByText('From 10 Nov 2025 08:00:00 to 16 Nov 2025 09:00:00 every change was captured').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('the overview judges nothing before it knows, and after a drill that failed anywhere proves nothing', async () => {
    const { page } = owner;
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/api/v1/overview', async (route) => {
      await promise;
      await route.continue();
    });
    await request('POST', '/schedules', { projectId: shop.projectId, name: 'Nightly', cron: '0 2 * * *' });
    const listed = page.waitForResponse(/\/api\/v1\/schedules\?/);
    await page.goto(`/o/${shop.slug}`);
    await (await listed).finished();
    await page.waitForTimeout(300);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([]);
    resolve();
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    await page.unrouteAll({ behavior: 'wait' });

    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const drill = { id: 'drl_01M7HEB45SGCPDEH4GKCKD95DK', backupId };
    const drills = new Map([
      [shop.projectId, { ...drill, passed: false, completedAt: ago(30) }],
      [staging, { ...drill, passed: true, completedAt: ago(1) }],
    ]);
    type Judged = { projects: { id: string; newestBackup: { snapshotTime: string } | null; protection: object }[] };
    await answerWith(page, /\/api\/v1\/overview$/, (data: Judged) => ({
      ...data,
      projects: data.projects.map((one) => ({
        ...one,
        lastDrill: drills.get(one.id) ?? null,
        ...(one.id === shop.projectId && one.newestBackup
          ? {
              newestBackup: { ...one.newestBackup, snapshotTime: ago(12 * 24) },
              protection: { state: 'unprotected', reasons: [{ code: 'very_late', message: 'It is late.' }] },
            }
          : {}),
      })),
    }));
    await page.goto(`/o/${shop.slug}`);
    await page.getByRole('heading', { name: 'The last drill of Shop failed.' }).waitFor();
    await page.getByText('The newest good backup is 12 d old').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'Shop' });
    await row.getByText('Failed').waitFor();
    expect(await row.getByText('Never').count()).toBe(0);
    drills.delete(shop.projectId);
    await page.reload();
    const proven = page.getByRole('heading', { name: 'Proven for 1 of 2 projects.' });
    // Half of the seal has its colour.
    await proven.locator('path[stroke-dasharray="50 100"]').waitFor();
    await page.getByText('Shop was never proven.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('a schedule says where it writes, what it leaves out, how long it keeps, and no kind of run it does not know', async () => {
    const { page } = owner;
    const place = { name: 'Second', type: 'local', path: `second/${shop.organizationId}` };
    const second = (await request('POST', '/storage-destinations', place)).body.data.id;
    const made = await request('POST', '/schedules', {
      projectId: shop.projectId,
      name: 'Twice',
      cron: '0 */5 * * *',
      type: 'incremental',
      fullEvery: 4,
      excludeCollections: ['drafts'],
      storageDestinationIds: [shop.destinationId, second],
      retention: 30,
    });
    const { id } = made.body.data;
    const run = await request('POST', `/schedules/${id}/run`);
    await untilEnded(dashboard.app, `/api/v1/backups/${run.body.data.id}`, shop.as);
    await goInside(page, shop.slug, `/schedules/${id}`);
    await page.getByText('Also to Second. Without drafts. Kept for 30 days.').waitFor();
    const runs = page.locator('section', { has: page.getByRole('heading', { name: 'Next runs' }) });
    await runs.getByRole('listitem').first().waitFor();
    expect(await runs.getByText(/^(Full|Increment)/).count()).toBe(0);
    // Steps restart at midnight: this is not "every five hours".
    await page.getByText('Backs up Shop 0 */5 * * * in UTC.').waitFor();
    await page.getByLabel('Newest backups kept').fill('9');
    await page.getByText('In place of keeping each for 30 days.').waitFor();
    await page.getByRole('button', { name: 'Save schedule' }).click();
    await page.getByText('9 newest').waitFor();
    // The year ahead shows them before the save.
    const saved = async () => (await request('GET', `/schedules/${id}`)).body.data;
    await expect.poll(saved).toMatchObject({ retention: null, retentionPolicy: { last: 9 } });
  });

  test('what is opened from the palette is what was typed, however fast', async () => {
    const { page } = owner;
    const typed = Promise.withResolvers<void>();
    await page.route('**/assets/palette-*', async (route) => {
      await typed.promise;
      await route.continue();
    });
    await page.goto(`/o/${shop.slug}/restores`);
    await page.getByRole('heading', { name: 'Restores', level: 1 }).waitFor();
    // What is typed before the field is mounted must reach neither the page nor a form.
    const box = page.getByRole('combobox', { name: 'Find anything' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('gschedulers');
    typed.resolve();
    await expect.poll(() => box.inputValue()).toBe('gschedulers');
    await box.fill('schedules');
    await box.press('Enter');
    await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor();
  });

  test('a new name of a project takes back nothing that somebody else set meanwhile', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects/${staging}`);
    await page.getByLabel('Name').fill('Trial');
    await request('PATCH', `/projects/${staging}`, { settings: { readRateLimit: 50 } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved').waitFor();
    const { name, settings } = (await request('GET', `/projects/${staging}`)).body.data;
    expect([name, settings.readRateLimit]).toEqual(['Trial', 50]);
  });

  test('a name that is typed back is saved, although a colleague gave another one meanwhile', async () => {
    const { page } = owner;
    const path = `/projects/${shop.projectId}`;
    const nameNow = async () => (await request('GET', path)).body.data.name;
    await page.goto(`/o/${shop.slug}${path}`);
    const name = page.getByLabel('Name', { exact: true });
    await expect.poll(() => name.inputValue()).toBe('Shop');
    await name.fill('Shop of ours');
    await request('PATCH', path, { name: 'Theirs', settings: { backupTimeoutMinutes: 47 } });
    await page.getByRole('heading', { name: 'Theirs', level: 1 }).waitFor();
    await name.fill('Shop');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await nameNow()).toBe('Shop');
    // Fields they did not edit have the colleague's values, in the form and in the service.
    expect(await page.getByLabel('Time limit of a backup, minutes').inputValue()).toBe('47');
    expect((await request('GET', path)).body.data.settings.backupTimeoutMinutes).toBe(47);
  });

  test('a new name of the organization takes back no zone that somebody else set meanwhile', async () => {
    const { page } = owner;
    const path = '/organizations/current';
    const before = (await request('GET', path)).body.data;
    await page.goto(`/o/${shop.slug}/settings`);
    await page.getByLabel('Name of the organization').fill('Named anew');
    await request('PUT', path, { settings: { timezone: 'Europe/Lisbon' } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const { name, settings } = (await request('GET', path)).body.data;
    expect([name, settings.timezone]).toEqual(['Named anew', 'Europe/Lisbon']);
    await expect.poll(() => page.getByLabel('Time zone').inputValue()).toBe('Europe/Lisbon');
    await request('PUT', path, { name: before.name, settings: { timezone: before.settings.timezone } });
  });

  test('the examples of a preview are of every collection that is chosen', async () => {
    const { page } = owner;
    await shop.documents.doc('bikes/B-1').set({ n: 200 });
    const collections = encodeURIComponent('drafts\nbikes');
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&collections=${collections}&step=confirm`);
    await page.getByText('bikes/B-1').first().waitFor();
  });

  test('a document that is as it was then says so before it is restored', async () => {
    const { page } = owner;
    const preview = (path: string) =>
      goInside(page, shop.slug, `/restores/new?backupId=${backupId}&documents=${encodeURIComponent(path)}`);
    const same = page.getByText('No field differs: nothing has changed since then.');
    await preview('bikes/B-2');
    await same.waitFor();
    await preview('bikes/B-1');
    await page.getByRole('table', { name: 'Some of them' }).waitFor();
    expect(await same.count()).toBe(0);
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bikes/B-2`);
    await page.getByText('No field differs', { exact: true }).waitFor();
  });

  test('the database that is connected is one of the project that is shown', async () => {
    const { page } = owner;
    const databases = (isConnected: boolean) => [
      { databaseId: '(default)', location: 'eur3', connected: false },
      { databaseId: 'staging', location: 'eur3', connected: isConnected },
    ];
    await answerWith(page, /\/organizations\/current$/, (data: object) => ({
      ...data,
      allows: { googleConsent: true, emulators: true, localStorage: true },
    }));
    await page.route('**/projects/available*', (route) =>
      route.fulfill({
        json: {
          success: true,
          data: [
            { sourceProjectId: 'one', name: 'One', databases: databases(false) },
            { sourceProjectId: 'two', name: 'Two', databases: databases(true) },
          ],
          pagination: { nextCursor: null, hasMore: false },
        },
      }),
    );
    await page.goto(`/o/${shop.slug}/projects?new=1`);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('With Google').click();
    await dialog.getByLabel('Database', { exact: true }).selectOption('staging');
    await dialog.getByLabel('Project', { exact: true }).selectOption('two');
    const sent = page.waitForRequest((one) => one.method() === 'POST' && one.url().endsWith('/projects'));
    await dialog.getByRole('button', { name: 'Connect' }).click();
    expect((await sent).postDataJSON()).toMatchObject({ sourceProjectId: 'two', databaseId: '(default)' });
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('the documents of a collection fill the screen and no more, with the reminder above them', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/backups/${backupId}/browse/bikes`);
    await page.getByRole('region', { name: /recovery kit/i }).waitFor();
    await page.getByRole('link', { name: 'B-1' }).first().waitFor();
    const beyond = () => page.evaluate<number>('document.documentElement.scrollHeight - window.innerHeight');
    await expect.poll(beyond).toBe(0);
  });
});
