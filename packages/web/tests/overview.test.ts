import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('the overview', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    await shop.backUp();
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('tells what lay in which destination on each of the last days, also in one that is gone', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const lay = [
      { storageDestinationId: shop.destinationId, storedBytes: 4_000_000 },
      { storageDestinationId: 'dst_01M7HEB45SGCPDEH4GKCKD95DK', storedBytes: 1_000_000 },
    ];
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query('insert into usage_days values ($1, $2, 5000000, 70, $3)', [
        shop.organizationId,
        yesterday,
        JSON.stringify(lay),
      ]),
    );
    const { page } = await dashboard.visit(shop.as.token);
    await page.goto(`/o/${shop.slug}`);
    await page.getByRole('button', { name: 'Show as table: Stored' }).click();
    const table = page.getByRole('region', { name: 'Bytes stored by destination over 30 days' });
    await expect
      .poll(() => table.getByRole('columnheader').allInnerTexts())
      .toEqual(['Folder', 'A former destination', 'Together']);
    const cells = table.getByRole('row', { name: yesterday }).getByRole('cell');
    expect(await cells.allInnerTexts()).toEqual(['4.0 MB', '1.0 MB', '5.0 MB']);
  });
});
