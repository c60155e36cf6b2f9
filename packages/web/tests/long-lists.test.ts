// @module-tag long
import { writeFile } from 'node:fs/promises';
import { lowerThreadPriority } from '@holdfast/engine/lower-thread-priority';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { type LongestTask, watchTasks } from '../testing/longest-task.ts';
import { openShop, type Shop } from '../testing/shop.ts';

/** Set by `npm run bench -- web`: where to write the figures. Then the lists have their full size. */
const report = process.env.LONG_LISTS_REPORT;
const [backups, documents] = report ? [10_000, 20_000] : [1000, 1200];
/** The most rows drawn at a time, however long the list is. */
const drawnMax = 120;
/** And not more between two frames, however far one jumps: a whole screen at once keeps the page busy for too long. A page
 * that had no processor for a while takes two steps in a row. */
const drawnAtOnceMax = 10;

describe.skipIf(!hasChromium)('a long list', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let backupId: string;
  const measured: Record<string, LongestTask> = {};
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    const writer = shop.documents.bulkWriter();
    for (let n = 0; n < documents; n++)
      void writer.set(shop.documents.doc(`bikes/B-${String(n).padStart(5, '0')}`), { frame: `frame number ${n}` });
    await writer.close();
    backupId = await shop.backUp();
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query(
        `insert into backups select (jsonb_populate_record(b, jsonb_build_object(
           'id', substr(b.id, 1, 20) || lpad(n::text, length(b.id) - 20, '0'),
           'created_at', b.created_at - n * interval '1 hour'))).*
         from backups b, generate_series(1, ${backups}) n`,
      ),
    );
    owner = await dashboard.visit(shop.as.token);
    // People scroll on their own machine: if cores are short, the service waits and not the page.
    if (report) lowerThreadPriority();
  }, 300_000);
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
    if (report) await writeFile(report, JSON.stringify(measured));
  });

  const watch = async (page: Page): Promise<void> => {
    // Records how many rows are drawn at once.
    await page.evaluate(`(() => {
      globalThis.drawnAtOnce = 0;
      new MutationObserver((changes) => {
        const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
        const rows = added.filter((node) => node.matches?.('tr[aria-rowindex], nav[aria-label="Documents"] li'));
        drawnAtOnce = Math.max(drawnAtOnce, rows.length);
      }).observe(document.body, { childList: true, subtree: true });
    })()`);
    if (report) stopWatching = await watchTasks(page);
  };
  let stopWatching: (() => Promise<LongestTask>) | undefined;

  test('of backups is scrolled to its end and draws only what is seen', {
    timeout: 300_000,
  }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    // A locator by role would keep the page busy.
    const table = page.locator('table[aria-label="Backups"]');
    await table.waitFor();
    await page.waitForTimeout(500);
    await watch(page);
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 6000);
          return Number(await table.getAttribute('aria-rowcount'));
        },
        { timeout: 240_000, interval: 30 },
      )
      .toBe(backups + 2);
    if (stopWatching) measured.backups = await stopWatching();
    expect(await page.evaluate('drawnAtOnce')).toBeLessThanOrEqual(drawnAtOnceMax);
    expect(await table.getByRole('row').count()).toBeLessThan(drawnMax);
    await page.keyboard.press('Home');
    await page.getByRole('heading', { name: 'Backups', level: 1 }).waitFor();
  });

  test('of documents shows the one that an address leads to, in the first page or far behind it', async () => {
    const { page } = owner;
    const list = page.getByRole('navigation', { name: 'Documents' });
    const isInSight = async (name: string) => {
      const [row, frame] = [await list.getByRole('link', { name }).boundingBox(), await list.boundingBox()];
      return row !== null && frame !== null && row.y >= frame.y && row.y + row.height <= frame.y + frame.height;
    };
    for (const name of ['B-00150', 'B-01100']) {
      await goInside(page, shop.slug, `/backups/${backupId}/browse/bikes/${name}`);
      await list.getByRole('link', { name }).waitFor();
      await expect.poll(() => isInSight(name)).toBe(true);
    }
    await page.getByRole('button', { name: 'Show from the beginning' }).click();
    await expect.poll(() => isInSight('B-00000')).toBe(true);
  });

  test('of documents is paged to its end, and searched by id and by value', {
    timeout: 300_000,
  }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups/${backupId}/browse/bikes`);
    const list = page.getByRole('navigation', { name: 'Documents' });
    await list.getByRole('link', { name: 'B-00000' }).waitFor();
    await watch(page);
    await list.hover();
    const last = page.locator(`nav[aria-label="Documents"] a[href$="B-${String(documents - 1).padStart(5, '0')}"]`);
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 8000);
          return last.count();
        },
        { timeout: 240_000, interval: 30 },
      )
      .toBe(1);
    if (stopWatching) measured.documents = await stopWatching();
    expect(await page.evaluate('drawnAtOnce')).toBeLessThanOrEqual(drawnAtOnceMax);
    expect(await list.getByRole('link').count()).toBeLessThan(drawnMax);
    const field = page.getByRole('textbox', { name: 'Beginning of an id' });
    await field.fill('B-0077');
    await expect.poll(() => list.getByRole('link').count()).toBe(10);
    await field.fill('');
    await page.getByRole('checkbox', { name: 'Search in values too' }).check();
    await field.fill('number 777');
    await list.getByRole('link', { name: 'B-00777' }).waitFor();
  });
});
