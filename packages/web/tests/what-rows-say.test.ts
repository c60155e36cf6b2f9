// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { formatDateTime, formatDay } from '../app/format/times.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

const failure = { status: 500, json: { success: false, error: { code: 'INTERNAL_ERROR', message: 'No.' } } };

describe.skipIf(!hasChromium)('what a row says', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let scheduleId: string;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });
    return answer.body.data;
  };
  const change = (sql: string, values: unknown[]) =>
    asOwner(dashboard.app.databaseUrl, (client) => client.query(sql, values));
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    owner = await dashboard.visit(shop.as.token);
    await shop.backUp();
    const body = { projectId: shop.projectId, name: 'Nightly', cron: '0 3 * * *', retention: 30 };
    scheduleId = (await call('POST', '/schedules', body)).id;
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  const nobodyAnswered = {
    code: 'STORAGE_UNAVAILABLE',
    message: 'Nobody answered.',
    retryable: true,
    advice: 'Test it.',
  };
  const setStorage = (status: string, error: object | null) =>
    change('update storage_destinations set status = $1, error = $2 where id = $3', [
      status,
      error,
      shop.destinationId,
    ]);
  const row = () => owner.page.getByRole('row').filter({ hasText: 'Nightly' });
  const schedules = () => owner.page.goto(`/o/${shop.slug}/schedules`);

  test('a schedule that is on and cannot run says so in the list, on its page and in the overview, why, and what mends it', async () => {
    const { page } = owner;
    await schedules();
    await row().getByText('On', { exact: true }).waitFor();
    const connect = (status: string) =>
      change('update projects set connection_status = $1 where id = $2', [status, shop.projectId]);
    await connect('unauthorized');
    await page.reload();
    await row().getByText('On, cannot run').waitFor();
    await row().getByRole('link', { name: 'Nightly' }).click();
    await page.getByText('Google no longer accepts the connection of Shop').waitFor();
    await page.getByRole('link', { name: 'Reconnect Shop' }).waitFor();
    expect(await page.getByText('On', { exact: true }).count()).toBe(0);
    await page.goto(`/o/${shop.slug}`);
    await page.getByText('Google no longer accepts the connection.').waitFor();
    await connect('connected');

    await setStorage('error', nobodyAnswered);
    await page.goto(`/o/${shop.slug}`);
    await page.getByText('Cannot run', { exact: true }).first().waitFor();
    await schedules();
    await row().getByText('On, cannot run').waitFor();
    await row().getByRole('link', { name: 'Nightly' }).click();
    await page.getByText('It cannot run: Folder does not work. Nobody answered.').waitFor();
    await page.getByRole('link', { name: 'Look at Folder' }).waitFor();
    await setStorage('connected', null);
    await page.reload();
    await page.getByText('On', { exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  test('a project says how old its newest good backup is, by what it is made again, and whether every second is kept', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/projects/${shop.projectId}`);
    const protection = page.getByLabel('How it is protected');
    await protection.getByText('every day at 03:00').waitFor();
    await protection.getByText('just now').waitFor();
    await protection.getByRole('link', { name: 'Off: backups only' }).waitFor();
    await protection.getByRole('link', { name: 'Nightly' }).click();
    await page.getByRole('heading', { name: 'Nightly', level: 1 }).waitFor({ state: 'attached' });
    // A run is due at a minute, not at a second.
    await page
      .getByText(/^(Today|Tomorrow) 03:00$/)
      .first()
      .waitFor();
  });

  test('the numbers of a schedule stand on one line, and the title of point in time where others stand', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, '/schedules/new');
    const topOf = async (name: string) => (await page.getByLabel(`${name} backups kept`).boundingBox())?.y;
    await page.getByLabel('Newest backups kept').waitFor();
    expect(await topOf('Yearly')).toBe(await topOf('Newest'));
    const titleOf = async (path: string) => {
      await goInside(page, shop.slug, path);
      if (path.endsWith('/time')) await page.getByRole('combobox', { name: 'Project' }).waitFor();
      const { y, height } = (await page.getByRole('heading', { level: 1 }).boundingBox())!;
      return { y, height };
    };
    const usual = await titleOf('/schedules');
    expect(await titleOf(`/projects/${shop.projectId}/time`)).toEqual(usual);
    expect(await titleOf('/account')).toEqual(usual);
  });

  test('a schedule whose project and storage could not be asked for is not said to be well', async () => {
    const { page } = owner;
    await page.route('**/api/v1/projects?*', (route) => route.fulfill(failure));
    await schedules();
    await row().getByText('On, not checked').waitFor();
    await page.unroute('**/api/v1/projects?*');
  });

  test('a restore whose backup could not be asked for says so instead of waiting', async () => {
    const { page } = owner;
    await page.route('**/api/v1/backups/bkp_*', (route) => route.fulfill(failure));
    await page.goto(`/o/${shop.slug}/restores/new?backupId=bkp_01`);
    await page.getByText('It could not be read.').waitFor();
    await page.unrouteAll();
  });

  test('a merge says of which moment it is and when it was made', async () => {
    const { page } = owner;
    await shop.backUp();
    await shop.documents.doc('bikes/two').set({ number: 2 });
    await shop.backUp('incremental');
    const made = await call('POST', '/backups', { projectId: shop.projectId, type: 'synthetic' });
    const { status } = await untilEnded(dashboard.app, `/api/v1/backups/${made.id}`, shop.as);
    expect(status).toBe('completed');
    await page.goto(`/o/${shop.slug}/backups`);
    const merge = page.getByRole('row').filter({ hasText: 'Synthetic' });
    await merge.waitFor();
    expect(await merge.getByText('merged').count()).toBe(0);
    await change(
      "update backups set snapshot_time = to_char(created_at at time zone 'UTC' - interval '2 days', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"000000Z\"') where id = $1",
      [made.id],
    );
    await page.reload();
    await merge.getByText(/^merged \d+ \w+$/).waitFor();
    await merge.getByRole('link').first().click();
    await page.getByText(/Synthetic backup of Shop · By hand · merged Today/).waitFor();
    // It was made last, but its data is two days old: documents are searched in a newer backup.
    const [, increment, , first] = await call('GET', '/backups');
    const { snapshotTime } = await call('GET', `/backups/${made.id}`);
    await goInside(page, shop.slug, '/find?q=bikes/');
    await page.getByText(`In the newest backup, ${formatDateTime(increment.snapshotTime, 'UTC')}`).waitFor();
    await goInside(page, shop.slug, '');
    await page.getByText(`since ${formatDay(snapshotTime, 'UTC')}`).waitFor();
    expect(formatDay(first.snapshotTime, 'UTC')).not.toBe(formatDay(snapshotTime, 'UTC'));
  });

  test('a destination says what lies in it, who writes there and how its last test went, and what to do while it is away', async () => {
    const { page } = owner;
    await call('POST', `/storage-destinations/${shop.destinationId}/test`);
    await goInside(page, shop.slug, `/storage/${shop.destinationId}`);
    const inside = page.getByRole('list', { name: 'Contents' });
    await inside.getByRole('link', { name: 'Shop' }).waitFor();
    await inside.getByRole('link', { name: /^\d+ backups$/ }).waitFor();
    await inside.getByText('Written by').getByRole('link', { name: 'Nightly' }).waitFor();
    await page.getByText(/^tested just now/).waitFor();
    await page.getByText('Read a range').waitFor();
    expect(await page.getByRole('heading', { name: 'While it does not work' }).count()).toBe(0);
    await setStorage('error', nobodyAnswered);
    await page.reload();
    await page.getByRole('heading', { name: 'While it does not work' }).waitFor();
    await page.getByText('New backups of Shop do not get there.').waitFor();
    await page.getByText(/What has a copy elsewhere is restored from there/).waitFor();
    await setStorage('connected', null);
  });

  test('a plan says what it decides and what of that is used', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, '/settings?tab=plan');
    const given = page.getByRole('table', { name: 'What a plan gives' });
    await given.getByRole('row', { name: 'Starter kept 30 days no' }).waitFor();
    await given.getByRole('row', { name: 'Enterprise yours kept 365 days yes' }).waitFor();
    await page.getByText(/has no limit by plan/).waitFor();
    await page.getByText("Not in use: backups are sealed with this installation's key").waitFor();
  });

  test('the log names the schedule that was changed, with its project, and the project of a backup that went', async () => {
    const { page } = owner;
    await call('PATCH', `/schedules/${scheduleId}`, { retention: 31 });
    const backupId = await shop.backUp();
    await call('DELETE', `/backups/${backupId}`);
    const gone = async () => (await call('GET', '/audit-logs?action=backup.objects_removed')).length;
    await expect.poll(gone).toBe(1);
    await page.goto(`/o/${shop.slug}/audit`);
    const entry = (action: string) => page.getByRole('row').filter({ hasText: action });
    await entry('schedule.updated').filter({ hasText: 'Schedule Nightly of Shop' }).waitFor();
    await entry('backup.objects_removed').filter({ hasText: 'Backup of Shop' }).waitFor();
  });

  test('a collection that was not counted says that, and a share that it is one', async () => {
    const { page } = owner;
    const node = (id: string, documentCount: number) => ({
      id,
      path: id,
      documentCount,
      sampled: true,
      collections: [],
    });
    const pagination = { nextCursor: null, hasMore: false };
    await page.route('**/collections?*', (route) =>
      route.fulfill({ json: { success: true, data: [node('late', 0), node('many', 1200)], pagination } }),
    );
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByRole('row', { name: 'late not counted' }).waitFor();
    await page.getByRole('row', { name: 'many about 1,200' }).waitFor();
    await page.unrouteAll();
  });
});
