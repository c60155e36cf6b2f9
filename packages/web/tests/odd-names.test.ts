// @module-tag long
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

const collection = 'odd, names';
const script = '<img src=x onerror="globalThis.broken=1">';
const ids = ['100%', 'a%2Fb', ' before', 'two\nlines', script, 'q?x=1&y#z', 'é'.repeat(700)];
/** The width of a select's chosen text, and the room for it. */
async function chosenIn(page: Page, select: string): Promise<[number, number]> {
  return (await page.evaluate(`(() => {
    const select = document.querySelector(${JSON.stringify(select)});
    const style = getComputedStyle(select);
    const copy = document.body.appendChild(document.createElement('span'));
    for (const property of ['font', 'letterSpacing', 'whiteSpace']) copy.style[property] = style[property];
    copy.textContent = select.selectedOptions[0].textContent;
    const width = copy.getBoundingClientRect().width;
    copy.remove();
    return [width, select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)];
  })()`)) as [number, number];
}

const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/');

describe.skipIf(!hasChromium)('a document with an odd name', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let backupId: string;
  const document = (id: string) => shop.documents.collection(collection).doc(id);
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (const id of ids) await document(id).set({ name: script, zero: -0, ref: document('100%') });
    await document('large').set({
      text: 'x'.repeat(10_000),
      ...Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`field ${index}`, index])),
    });
    await document('100%').collection('below').doc('deep').set({ isDeep: true });
    backupId = await shop.backUp();
    for (const id of ids) await document(id).set({ name: 'broken' });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test.each(ids)('is shown as it is, in a backup and with its versions: %j', async (id) => {
    const { page } = owner;
    const path = `${collection}/${id}`;
    await page.goto(`/o/${shop.slug}/backups/${backupId}/browse/${encoded(path)}`);
    await page.getByRole('table').getByText('-0.0').waitFor();
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/${encoded(path)}`);
    await page.getByText('Restoring puts back 3 fields.').waitFor();
    expect(await page.evaluate('globalThis.broken')).toBeUndefined();
  });

  test.each([' before', 'two\nlines', '100%'])('is the one that is restored: %j', async (id) => {
    const { page } = owner;
    await page.setViewportSize(phone);
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/${encoded(`${collection}/${id}`)}`);
    await page.getByRole('link', { name: 'Restore this version…' }).click();
    await page.getByRole('button', { name: 'Restore 1 document' }).click();
    await page.getByRole('heading', { name: /^Restored/ }).waitFor();
    expect((await document(id).get()).data()?.name).toBe(script);
  });

  test('as long as it may be does not push the preview off a phone', async () => {
    const { page } = owner;
    const path = `${collection}/${ids.at(-1)}`;
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&document=${encodeURIComponent(path)}`);
    await page.getByRole('button', { name: 'Restore 1 document' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('as long as it may be, a project, a storage or a schedule makes no page wider than a phone', async () => {
    const { page } = owner;
    const call = async (method: string, path: string, body: object) =>
      (await dashboard.app.request(method, `/api/v1${path}`, { ...shop.as, body })).body.data;
    const name = 'Donaudampfschifffahrtsgesellschaft'.repeat(3).slice(0, 100);
    await call('PATCH', `/projects/${shop.projectId}`, { name });
    await call('PATCH', `/storage-destinations/${shop.destinationId}`, { name });
    const schedule = await call('POST', '/schedules', { projectId: shop.projectId, name, cron: '0 3 * * *' });
    await call('POST', `/projects/${shop.projectId}/pitr/enable`, {});
    // A running backup is shown above the list, with its project and storage.
    shop.firestore.control.addFault({ method: 'RunQuery', latencyMs: 60_000 });
    const running = await call('POST', '/backups', { projectId: shop.projectId });
    await page.setViewportSize(phone);
    const found: string[] = [];
    await page.goto(`/o/${shop.slug}/nothing`);
    // Not even for a moment: a phone would zoom out.
    await page.evaluate(`
      globalThis.widest = 0;
      new MutationObserver(() => {
        widest = Math.max(widest, document.documentElement.scrollWidth - innerWidth);
      }).observe(document, { childList: true, subtree: true, attributes: true });
    `);
    for (const path of [
      '',
      '/start',
      `/projects/${shop.projectId}`,
      '/backups',
      `/backups/${backupId}`,
      `/backups/${running.id}`,
      `/schedules/${schedule.id}`,
      `/storage/${shop.destinationId}`,
      `/projects/${shop.projectId}/time`,
      `/restores/new?backupId=${backupId}`,
      '/settings?tab=plan',
      '/audit',
    ]) {
      await goInside(page, shop.slug, path);
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      const wide = (await page.evaluate('[widest, widest = 0][0]')) as number;
      if (wide > 0) found.push(`${path} is wider by ${wide}`);
    }
    expect(found).toEqual([]);
    shop.firestore.control.clearFaults();
    await call('POST', `/backups/${running.id}/cancel`, {});
    // The chosen option is readable.
    for (const [path, select] of [
      ['/backups', 'select[data-filter]'],
      ['/schedules/new', 'select[aria-label="After an outage"]'],
    ] as const) {
      await goInside(page, shop.slug, path);
      if (path === '/backups') await page.getByRole('button', { name: 'Filters' }).click();
      await page.locator(select).first().waitFor();
      const [words, room] = await chosenIn(page, select);
      expect(room, path).toBeGreaterThanOrEqual(words);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('as long as it may be lies over nothing else on a desk', async () => {
    const { page } = owner;
    const hidden = (of: Locator) => of.evaluate((element) => element.scrollWidth - element.clientWidth);
    await goInside(page, shop.slug, `/backups/${backupId}/browse/${encoded(collection)}`);
    await page.getByText('Donaudampf').last().waitFor();
    expect(await hidden(page.getByText('Inside this backup').locator('..'))).toBe(0);
    await goInside(page, shop.slug, '/restores');
    await page.getByRole('row').nth(1).waitFor();
    expect(await hidden(page.getByRole('table').locator('..'))).toBe(0);
    await goInside(page, shop.slug, `/storage/${shop.destinationId}`);
    await page.getByRole('list', { name: 'Contents' }).waitFor();
    expect(await hidden(page.getByRole('banner').getByRole('link', { name: 'Storage' }))).toBe(0);
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/${encoded(`${collection}/${ids.at(-1)}`)}`);
    const heading = page.getByRole('heading', { level: 1 });
    await page.getByText('What changed').waitFor();
    expect((await heading.boundingBox())?.height).toBeLessThan(150);
  });

  test('leads to what lies below it and to what it refers to', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/backups/${backupId}/browse/${encoded(`${collection}/a%2Fb`)}`);
    await page.getByRole('link', { name: `${collection}/100%` }).click();
    await page.getByRole('heading', { name: `${collection}/100%`, level: 2 }).waitFor();
    await page.getByRole('navigation', { name: 'Below this document' }).getByRole('link', { name: 'below' }).click();
    await page.getByRole('link', { name: 'deep' }).click();
    await page.getByRole('rowheader', { name: 'isDeep' }).waitFor();
  });

  test('and thousands of fields is drawn as far as anybody reads', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/backups/${backupId}/browse/${encoded(`${collection}/large`)}`);
    await page.getByRole('button', { name: 'Show all 3,001 fields' }).click();
    await page.getByRole('button', { name: '… Show all 10,000 characters' }).click();
    expect(await page.getByRole('rowheader').count()).toBe(3001);
  });
});
