// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { scaleOf } from '../app/components/line/scale.ts';
import { formatDay } from '../app/format/times.ts';
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
    const day = formatDay(Date.parse(yesterday), 'UTC');
    const cells = table.getByRole('row', { name: new RegExp(`^${day} `) }).getByRole('cell');
    expect(await cells.allInnerTexts()).toEqual(['4.0 MB', '1.0 MB', '5.0 MB']);
  });

  test('says of a storage that is down that it is, with the way to it, and promises nothing that lies there', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    const setStatus = (status: string) =>
      asOwner(dashboard.app.databaseUrl, (client) =>
        client.query('update storage_destinations set status = $1', [status]),
      );
    const body = { projectId: shop.projectId, name: 'Nightly', cron: '0 2 * * *' };
    await dashboard.app.request('POST', '/api/v1/schedules', { ...shop.as, body });
    await setStatus('error');
    await page.goto(`/o/${shop.slug}`);
    await page.getByRole('heading', { name: 'Yes, but Shop is at risk.' }).waitFor();
    await page.getByRole('heading', { name: 'Not at the moment.' }).waitFor();
    await page.getByRole('rowheader', { name: /Shop At risk/ }).waitFor();
    expect(await page.getByRole('link', { name: 'Back up now' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Look at Folder' }).click();
    await page.getByRole('heading', { name: 'Folder', level: 1 }).waitFor();
    await setStatus('connected');
  });

  test('draws what has just happened before now and what is due at once behind it, none upon another', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    let dueInMs = 30_000;
    const endOfLineMs = scaleOf(14, 0, 1).toMs;
    await page.route('**/api/v1/overview', async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const at = new Date(Date.now() + dueInMs).toISOString();
      body.data.nextRuns = [{ ...body.data.nextRuns[0], projectId: shop.projectId, at }];
      await route.fulfill({ response: answer, json: body });
    });
    await page.goto(`/o/${shop.slug}`);
    const line = page.getByRole('img', { name: /^Shop/ });
    await line.locator('circle.stroke-control').waitFor();
    const edges = async (mark: string) => {
      const { x = 0, width = 0 } = (await line.locator(mark).boundingBox()) ?? {};
      return [x, x + width] as const;
    };
    const [made, now, due] = [await edges('rect.fill-held'), await edges('path.stroke-ink'), await edges('circle')];
    expect(made[1]).toBeLessThan(now[0]);
    expect(now[1]).toBeLessThan(due[0]);

    // One at the very end of the line is a whole ring.
    const frame = (await line.boundingBox())!;
    dueInMs = endOfLineMs - 60_000;
    await page.reload();
    await expect.poll(async () => (await edges('circle'))[0]).toBeGreaterThan(due[1] + 10);
    expect((await edges('circle'))[1]).toBeLessThanOrEqual(frame.x + frame.width);
  });

  test('as a table has all that is drawn, each row with its project', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    await page.goto(`/o/${shop.slug}`);
    await page.getByRole('button', { name: 'Show as table', exact: true }).click();
    const drawn = page.getByRole('table', { name: 'What is on the line' });
    await drawn
      .getByRole('row', { name: /^Shop Due/ })
      .first()
      .waitFor();
    await drawn
      .getByRole('row', { name: /^Shop Full/ })
      .first()
      .waitFor();
    await page.getByRole('table', { name: 'Show as table' }).getByRole('columnheader', { name: 'Proven' }).waitFor();
  });

  test('leads from a sudden loss to what got lost, and asks before retention goes on', async () => {
    const { page } = await dashboard.visit(shop.as.token);
    for (let number = 0; number < 5; number++) await shop.documents.doc(`bikes/B-${number}`).set({ number });
    const before = await shop.backUp();
    for (let number = 0; number < 5; number++) await shop.documents.doc(`bikes/B-${number}`).delete();
    const after = await shop.backUp();
    await page.goto(`/o/${shop.slug}`);
    await page.getByText(/It had 6 documents and has 1 now\./).waitFor();
    await page.getByRole('button', { name: 'Go on…' }).click();
    await page.getByRole('dialog', { name: 'Let the retention of Shop continue?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Have a look' }).first().click();
    await page.getByText('− 5 only in this backup').waitFor();
    expect(page.url()).toContain(`/backups/${before}/compare?against=${after}`);
    const project = await dashboard.app.request('GET', `/api/v1/projects/${shop.projectId}`, shop.as);
    expect(project.body.data.retentionFrozen).not.toBeNull();
    await page.goto(`/o/${shop.slug}/backups/${after}`);
    await page.getByRole('heading', { name: 'This backup looks suspicious' }).waitFor();
  });
});
