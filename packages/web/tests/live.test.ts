import { loadSample } from '@holdfast/sandbox';
import { freePort } from '@holdfast/server/platform/free-port';
import { dashboardFolder } from '@holdfast/web/build';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../server/testing/test-app.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

/** Far less than the minute after which a page refetches by itself. */
const soon = { timeout: 12_000 };

describe.skipIf(!hasChromium)('an open page', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let port: number;
  let second: TestApp | undefined;
  beforeAll(async () => {
    port = await freePort();
    dashboard = await startDashboard({ PORT: String(port) });
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await second?.stop();
    await dashboard.close();
    await second?.close();
    await shop.close();
  });

  const call = (app: TestApp, method: string, path: string, body?: object) =>
    app.request(method, `/api/v1${path}`, { ...shop.as, ...(body ? { body } : {}) });

  test('shows what others do as it happens: a backup, a schedule, a name', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}`);
    await page.getByText('By hand only').first().waitFor();
    await shop.backUp();
    await page.getByText(/^1 point/).waitFor(soon);
    await call(dashboard.app, 'POST', '/schedules', {
      projectId: shop.projectId,
      name: 'At noon',
      cron: '0 12 * * *',
    });
    await page.getByText('At noon').waitFor(soon);
    await page.getByText('Protected', { exact: true }).first().waitFor(soon);
    await call(dashboard.app, 'PATCH', `/projects/${shop.projectId}`, { name: 'Bike shop' });
    await page.getByRole('link', { name: 'Bike shop' }).waitFor(soon);
  });

  test('a backup under way tells how many documents come in a second, and how long it takes', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const [project, database] = ['shop', '(default)'];
    loadSample(shop.firestore.control.database({ project, database }), { seed: 3, documents: 3000 });
    await call(dashboard.app, 'PATCH', `/projects/${shop.projectId}`, { settings: { readRateLimit: 200 } });
    await page.goto(`/o/${shop.slug}/backups`);
    const made = await call(dashboard.app, 'POST', '/backups', { projectId: shop.projectId, type: 'full' });
    const pace = page.getByText(/of 3,\d+ documents · .* · [\d,]+ per second · .* left/);
    await pace.waitFor();
    await page.goto(`/o/${shop.slug}/backups/${made.body.data.id}`);
    await pace.waitFor();
    await call(dashboard.app, 'POST', `/backups/${made.body.data.id}/cancel`);
    await pace.waitFor({ state: 'detached' });
    await page.goto(`/o/${shop.slug}`);
  });

  test('goes when another is asked for, also while the file of that one is still on its way', async () => {
    const { page, context } = owner;
    await page.goto(`/o/${shop.slug}/projects`);
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    await context.route('**/assets/webhooks-*.js', async (route) => {
      await promise;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    const content = page.getByRole('main');
    await content.getByRole('status', { name: 'Loading' }).locator('.skeleton').first().waitFor();
    expect(await content.getByRole('heading').count()).toBe(0);
    expect(await page.title()).toBe('Loading · Holdfast');
    await page.getByRole('status').getByText('Loading', { exact: true }).waitFor();
    resolve();
    await content.locator('h1:focus', { hasText: 'Webhooks' }).waitFor();
    expect(await page.getByRole('status').getByText('Loading', { exact: true }).count()).toBe(0);
    await context.unrouteAll({ behavior: 'wait' });
    await page.goto(`/o/${shop.slug}`);
  });

  test('outlives a restart of the service, and follows the new one', { tags: 'long' }, async () => {
    const { page } = owner;
    // Loaded pages can be shown without the service.
    await page.getByRole('link', { name: 'Bike shop' }).waitFor();
    await page.getByRole('link', { name: 'Backups', exact: true }).click();
    await page.getByRole('table', { name: 'Backups' }).waitFor();
    const { app } = dashboard;
    await app.stop();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('link', { name: 'Bike shop' }).waitFor();
    second = await startTestApp(
      { PORT: String(port), DATABASE_URL: app.databaseUrl, HOLDFAST_DATA: app.folder },
      { dashboardFolder },
    );
    await call(second, 'PATCH', `/projects/${shop.projectId}`, { name: 'Mended shop' });
    await page.getByRole('link', { name: 'Mended shop' }).waitFor(soon);
    // It came by the stream, not by a refetch.
    await call(second, 'PATCH', `/projects/${shop.projectId}`, { name: 'Shop' });
    await page.getByRole('link', { name: 'Shop', exact: true }).waitFor(soon);
    expect(await page.getByText('Reconnecting').count()).toBe(0);
  });
});
