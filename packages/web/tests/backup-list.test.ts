// @module-tag long
import { dayMs } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

/** One of this year that is far from today: a day with its name is wider than the word for today. */
function wednesday(now: Date): Date {
  const middle = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() < 6 ? 8 : 2, 15, 13, 40, 7));
  return new Date(middle.getTime() + ((10 - middle.getUTCDay()) % 7) * dayMs);
}

describe.skipIf(!hasChromium)('the list of backups', () => {
  let shop: Shop;
  let dashboard: TestDashboard;
  let owner: Visitor;
  let fullId: string;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (let n = 0; n < 5; n++) await shop.documents.doc(`bikes/B-${n}`).set({ n });
    const named = { ...shop.as, body: { name: 'Support desk' } };
    expect((await dashboard.app.request('PATCH', `/api/v1/projects/${shop.projectId}`, named)).status).toBe(200);
    fullId = await shop.backUp();
    await shop.documents.doc('bikes/B-1').set({ n: 'changed' });
    await shop.documents.doc('bikes/B-2').delete();
    await shop.backUp('incremental');
    const body = { projectId: shop.projectId, name: 'Nightly', cron: '0 2 * * *', retention: 9 };
    const schedule = await dashboard.app.request('POST', '/api/v1/schedules', { ...shop.as, body });
    const run = await dashboard.app.request('POST', `/api/v1/schedules/${schedule.body.data.id}/run`, shop.as);
    await untilEnded(dashboard.app, `/api/v1/backups/${run.body.data.id}`, shop.as);
    const restore = await dashboard.app.request('POST', '/api/v1/backups/restore', {
      ...shop.as,
      body: { backupId: fullId, documentIds: ['bikes/B-1'] },
    });
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${restore.body.data.id}`, shop.as);
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('says what each holds, who made it, and how many there are of which size', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups?project=${shop.projectId}&days=7`);
    await page.getByText(/^4 of Support desk, .* stored\./).waitFor();
    await page.getByRole('row', { name: /Increment .* By hand 2 changes/ }).waitFor();
    const nightly = page.getByRole('row', { name: /Full .* Nightly 4 / });
    await nightly.getByRole('link').first().click();
    await page.getByRole('main').getByRole('link', { name: 'Nightly' }).waitFor();
    await page.goBack();
    await nightly.waitFor();
    await page.getByRole('link', { name: 'Undo it…' }).click();
    const asked = page.getByRole('dialog', { name: 'Undo this restore?' });
    await asked.getByRole('listitem').first().waitFor();
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Undo…', exact: true }).waitFor();
  });

  test('keeps what can be done with a row in sight on every desk', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('row', { name: /Before a restore/ }).waitFor();
    const hiddenPixels =
      '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("table").parentElement)';
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query('update backups set snapshot_time = $1', [
        wednesday(new Date()).toISOString().replace('Z', '000000Z'),
      ]),
    );
    await page.reload();
    await page
      .getByText(/^Wed \d\d \w+$/)
      .first()
      .waitFor();
    for (const width of [1600, 1440, 1366, 1280, 1152, 1024, 900]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate(hiddenPixels), `at ${width} pixels`).toBe(0);
    }
    await page.setViewportSize(desktop);
  });

  test('is walked through row by row with Tab; what can be done with one stands to its right', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    const rows = page.getByRole('row');
    await expect.poll(() => rows.count()).toBe(5);
    const rowOfFocus = () => page.evaluate('document.activeElement.closest("tr")?.rowIndex');
    await page.keyboard.press('j');
    const visited = [await rowOfFocus()];
    for (let presses = 0; presses < 3; presses++) {
      await page.keyboard.press('Tab');
      visited.push(await rowOfFocus());
    }
    expect(visited).toEqual([1, 2, 3, 4]);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Put under legal hold' }).click();
    await page.getByRole('row', { name: /Full .* Legal hold/ }).waitFor();
    const held = await dashboard.app.request('GET', `/api/v1/backups/${fullId}`, shop.as);
    expect(held.body.data.legalHold).toBe(true);
    // A click in the menu does not open the row.
    expect(page.url()).toMatch(/\/backups$/);
  });

  test('names what stands on a backup that somebody wants to delete, and offers no way to delete what is held', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups/${fullId}`);
    await page.getByText('Legal hold').first().waitFor();
    const open = () => page.getByRole('main').getByRole('button', { name: 'More actions' }).click();
    await open();
    await page.getByRole('menuitem', { name: 'Lift the legal hold' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'Delete' }).count()).toBe(0);
    await page.getByRole('menuitem', { name: 'Lift the legal hold' }).click();
    await expect.poll(() => page.getByText('Legal hold').count()).toBe(0);
    await open();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('This one depends on it:').waitFor();
    await dialog.getByRole('link', { name: /^Increment/ }).click();
    await page.getByText('Increment of Support desk').waitFor();
    expect(await dialog.count()).toBe(0);
  });

  test('shows what lies in one destination, from that destination on', async () => {
    const { page } = owner;
    const place = { name: 'Attic', type: 'local', path: 'attic' };
    const attic = await dashboard.app.request('POST', '/api/v1/storage-destinations', { ...shop.as, body: place });
    const { id } = attic.body.data;
    await goInside(page, shop.slug, `/storage/${id}`);
    await page.getByText('Nothing is stored in it').waitFor();
    const body = { projectId: shop.projectId, storageDestinationIds: [id] };
    const made = await dashboard.app.request('POST', '/api/v1/backups', { ...shop.as, body });
    await untilEnded(dashboard.app, `/api/v1/backups/${made.body.data.id}`, shop.as);
    // The open page updates by itself.
    await expect.poll(() => page.getByRole('link', { name: '1 backup' }).count()).toBe(2);
    await page.getByRole('list', { name: 'Contents' }).getByRole('link', { name: '1 backup' }).click();
    await page.waitForURL(`**/backups?project=${shop.projectId}&storage=${id}&status=completed`);
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Clear filters: Project' }).click();
    await page.getByText(/^1 in Attic, .* stored\./).waitFor();
    await page.getByRole('combobox', { name: 'Storage' }).selectOption({ label: 'Any' });
    await expect.poll(() => page.getByRole('row').count()).toBe(6);
  });

  test('restores are shown without dry runs; on a phone their filters are behind one button that counts them', async () => {
    const { page } = owner;
    const dry = { backupId: fullId, options: { dryRun: true } };
    const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body: dry });
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${made.body.data.id}`, shop.as);
    await goInside(page, shop.slug, '/restores');
    const dryRuns = page.getByRole('row').filter({ hasText: 'Dry run' });
    await dryRuns.first().waitFor();
    const kind = page.getByRole('combobox', { name: 'Kind' });
    await kind.selectOption({ label: 'Without dry runs' });
    await expect.poll(() => dryRuns.count()).toBe(0);
    await page.getByRole('row', { name: /bikes\/B-1/ }).waitFor();
    await kind.selectOption({ label: 'Dry runs only' });
    await expect.poll(() => page.getByRole('row', { name: /bikes\/B-1/ }).count()).toBe(0);
    await dryRuns.first().waitFor();
    await page.setViewportSize(phone);
    const filters = page.getByRole('button', { name: 'Filters 1 set', expanded: false });
    await filters.waitFor();
    expect(await kind.count()).toBe(0);
    await filters.click();
    await kind.selectOption({ label: 'Any' });
    await page.getByRole('button', { name: 'Filters', exact: true, expanded: true }).waitFor();
    await page.setViewportSize(desktop);
  });

  test('a restore is undone from the list of restores, which then says so', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, '/restores');
    await page.getByRole('link', { name: /^Undo…: bikes\/B-1, / }).click();
    const asked = page.getByRole('dialog', { name: 'Undo this restore?' });
    await asked.getByText('1 document gets back what stood there before.').waitFor();
    await asked.getByRole('button', { name: 'Undo the restore' }).click();
    await page.getByRole('heading', { name: /^Undone: the restore of bikes\/B-1/ }).waitFor();
    await goInside(page, shop.slug, '/restores');
    await page.getByRole('row', { name: /Completed bikes\/B-1 Undone/ }).waitFor();
    expect(await page.getByRole('link', { name: /^Undo…/ }).count()).toBe(0);
  });
});
