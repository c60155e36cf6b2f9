import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('a new version that has replaced the files of an open page', () => {
  let owner: Visitor;
  let shop: Shop;
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    // The router logs every page that could not be loaded.
    expect(owner.complaints.filter((said) => !/imported module|could not be loaded/.test(said))).toEqual([]);
    owner.complaints.length = 0;
    await dashboard.close();
    await shop.close();
  });
  const fileOf = (name: string) => `**/assets/${name}-*.js`;
  const overview = async () => {
    await owner.page.goto(`/o/${shop.slug}`);
    await owner.page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
  };
  const watchLoads = () => {
    const loads: string[] = [];
    owner.page.on('load', () => loads.push(owner.page.url()));
    return loads;
  };

  test('is loaded by itself when a page is opened whose file is gone', async () => {
    const { page } = owner;
    await overview();
    const loads = watchLoads();
    await page.route(fileOf('team'), (route) =>
      loads.length === 0 ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.getByRole('link', { name: 'Team' }).first().click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    expect(loads).toHaveLength(1);
    await page.unroute(fileOf('team'));
  });

  test('is told and offered when that does not help, in words and not by the browser', async () => {
    const { page } = owner;
    await overview();
    const loads = watchLoads();
    await page.route(fileOf('webhooks'), (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await page.getByRole('heading', { name: 'Holdfast was updated since you opened this page' }).waitFor();
    expect(await page.getByText(/dynamically imported/).count()).toBe(0);
    expect(loads).toHaveLength(1);
    await page.unroute(fileOf('webhooks'));
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  });

  test('takes nothing that was typed: what opens over the page says so and closes', async () => {
    const { page } = owner;
    await page.route(fileOf('keys-dialog'), (route) => route.fulfill({ status: 404 }));
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByLabel('Name', { exact: true }).fill('Half of a na');
    await page.getByRole('heading', { level: 1 }).first().click();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Holdfast was updated since you opened this page' });
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half of a na');
    await page.unroute(fileOf('keys-dialog'));
  });

  test('that is still starting leaves the page where it is, until it answers', async () => {
    const { page, context } = owner;
    await overview();
    const loads = watchLoads();
    const isHere = (url: URL) => url.origin === new URL(dashboard.app.address).origin;
    await context.route(isHere, (route) => route.abort());
    await page.getByRole('link', { name: 'Audit log' }).first().click();
    await page.getByRole('alert').getByText('Holdfast does not answer').first().waitFor();
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await context.unroute(isHere);
    expect(loads).toEqual([]);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
  });
});
