import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('an organization', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  const get = async (path: string) => (await dashboard.app.request('GET', `/api/v1${path}`, shop.as)).body.data;
  beforeAll(async () => {
    dashboard = await startDashboard({ ACCESS_TOKEN_TTL: '86400' });
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('has a schedule made of words, and it fires', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/schedules/new`);
    await page.getByRole('combobox', { name: 'How often' }).selectOption('hours 1');
    await page.getByRole('button', { name: 'Save schedule' }).click();
    await page.waitForURL('**/schedules/sch_*');
    const [schedule] = await get('/schedules');
    expect(schedule).toMatchObject({ cron: '0 * * * *', timezone: 'UTC', enabled: true });
    const { clock } = dashboard.app;
    clock.advance(Date.parse(schedule.nextRunAt) - clock.now().getTime() + 1000);
    await expect.poll(async () => (await get(`/backups?scheduleId=${schedule.id}`))[0]?.status).toBe('completed');
    await page.getByRole('link', { name: 'Backups', exact: true }).click();
    await page.getByRole('row', { name: /Completed Full .* Schedule/ }).waitFor();
  });

  test('runs a drill, and an auditor takes its signed report along', async () => {
    const { page } = owner;
    const [backup] = await get('/backups');
    await page.goto(`/o/${shop.slug}/backups/${backup.id}`);
    await page.getByRole('button', { name: 'Run a drill' }).click();
    await page.getByText('Every document came back equal').waitFor();
    await page.goto(`/o/${shop.slug}/restores?tab=drills`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Signed report' }).click(),
    ]);
    const [drill] = await get('/drills');
    expect(await readFile(await download.path(), 'utf8')).toBe(drill.signedReport);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('heading', { name: /^Yes, proven/ }).waitFor();
  });

  test('chooses who is told by mail, and of what', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings?tab=notifications`);
    await page.getByText('These addresses').click();
    await page.getByLabel('E-mail addresses').fill('ops@example.com\nboss@example.com');
    await page.getByRole('checkbox', { name: 'A run that was missed' }).uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await get('/organizations/current')).settings.notifications)
      .toEqual({
        emails: ['ops@example.com', 'boss@example.com'],
        events: ['backup.failed', 'backup.anomaly', 'pitr.stopped', 'storage.error'],
      });
  });

  test('that was deleted by mistake is brought back by its owner', async () => {
    const { page } = owner;
    const { name } = await get('/organizations/current');
    await page.goto(`/o/${shop.slug}/settings?tab=danger`);
    await page.getByRole('button', { name: 'Delete organization' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete organization' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(name);
    await dialog.getByRole('button', { name: 'Delete organization' }).click();
    await page.waitForURL('**/organizations/new?recover=*');
    expect((await dashboard.app.request('GET', '/api/v1/backups', shop.as)).status).toBe(404);
    await page.getByRole('button', { name: 'Recover a deleted one' }).click();
    await page.waitForURL(`**/o/${shop.slug}`);
    await page.getByRole('link', { name: 'Shop', exact: true }).waitFor();
    expect(await get('/backups')).toHaveLength(1);
  });
});
