// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { desktop, hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

/** More than one page of them. */
const collections = 230;
const nameOf = (n: number) => `c${String(n).padStart(4, '0')}`;

describe.skipIf(!hasChromium)('hundreds of collections', () => {
  let shop: Shop;
  let owner: Visitor;
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    const writer = shop.documents.bulkWriter();
    for (let n = 0; n < collections; n++) void writer.set(shop.documents.doc(`${nameOf(n)}/one`), { n });
    await writer.close();
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('of a project are drawn as they arrive, folded, and found by a part of their name', async () => {
    const { page } = owner;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/\/collections\?.*cursor=/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    const table = page.getByRole('table', { name: 'Collections' });
    await page.getByText('200 so far, more are being read').waitFor();
    expect(await table.getByRole('row').count()).toBe(20);
    // The settings are within reach.
    await page.getByRole('button', { name: 'Save' }).waitFor();
    release();
    await page.getByRole('button', { name: `Show all ${collections} collections` }).waitFor();
    await page.getByRole('searchbox', { name: 'Part of a name' }).fill(nameOf(collections - 1));
    await expect.poll(() => table.getByRole('row').count()).toBe(1);
    await page.unrouteAll();
  });

  test('of a backup are chosen all at once, by a part of their name, or one by one', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    await page.goto(`/o/${shop.slug}/restores/new?backupId=${backupId}&step=which`);
    await page.getByText('Some collections').click();
    await page.getByText(`0 of ${collections} chosen`).waitFor();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByText(`${collections} of ${collections} chosen`).waitFor();
    await page.getByRole('button', { name: 'None' }).click();
    await page.getByRole('searchbox', { name: 'Part of a name' }).fill('c000');
    await page.getByRole('button', { name: 'All found' }).click();
    await page.getByRole('checkbox', { name: /c0007/ }).uncheck();
    await page.getByText(`9 of ${collections} chosen`).waitFor();
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByText('c0000, c0001, c0002, c0003, c0004 and 4 more').waitFor();
    // The documents of a collection at the end of the tree are shown beside it.
    await page.goto(`/o/${shop.slug}/backups/${backupId}/browse`);
    await page.getByRole('button', { name: `Show all ${collections} collections` }).click();
    await page.getByRole('link', { name: nameOf(collections - 1) }).click();
    const document = page.getByRole('link', { name: 'one', exact: true });
    await document.waitFor();
    const inSight = async () => {
      const { y, height } = (await document.boundingBox())!;
      return y > 0 && y + height < desktop.height;
    };
    await page.getByRole('link', { name: nameOf(collections - 1) }).scrollIntoViewIfNeeded();
    await expect.poll(inSight).toBe(true);
  });
});
