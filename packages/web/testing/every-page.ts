import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import type { TestApp } from '../../server/testing/test-app.ts';
import { startDashboard, type TestDashboard } from './browser.ts';
import { openShop, type Shop } from './shop.ts';

export interface EveryPage {
  readonly dashboard: TestDashboard;
  readonly shop: Shop;
  /** Paths below the organization's address. */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

/** A dashboard of a shop with something on every page. */
export async function openEveryPage(): Promise<EveryPage> {
  const dashboard = await startDashboard();
  const { shop, paths } = await furnish(dashboard.app);
  const close = async () => {
    await dashboard.close();
    await shop.close();
  };
  return { dashboard, shop, paths, close };
}

const nowhere = 'There is nothing at this address';

/**
 * Goes to a page without loading the dashboard again, which costs four times the processor's time. The way leads over an
 * address that nothing has, so that what is looked at afterwards is not the page before. A first visit has to load it.
 */
export async function goInside(page: Page, slug: string, path: string): Promise<void> {
  const lost = page.getByRole('heading', { level: 1, name: nowhere });
  if (page.url() === 'about:blank') await page.goto(`/o/${slug}/nowhere`);
  else await go(page, `/o/${slug}/nowhere`);
  await lost.waitFor({ state: 'attached' });
  await go(page, `/o/${slug}${path}`);
  await lost.waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
}

function go(page: Page, address: string): Promise<unknown> {
  return page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`);
}

async function furnish(app: TestApp): Promise<{ shop: Shop; paths: string[] }> {
  const shop = await openShop(app);
  await shop.documents.doc('bikes/one').set({ number: 1, tags: ['a', 'b'], place: { street: 'Rua' }, none: null });
  const backupId = await shop.backUp();
  await shop.documents.doc('bikes/one').set({ number: 2 });
  await shop.backUp('incremental');
  const post = (path: string, body: unknown) => app.request('POST', `/api/v1${path}`, { ...shop.as, body });
  const restore = await post('/backups/restore', { backupId, options: { dryRun: true } });
  const webhook = await post('/webhooks', { name: 'Hook', url: 'https://hooks.example/x', events: ['backup.*'] });
  await post('/organizations/current/invites', { email: 'new@example.com' });
  await post(`/projects/${shop.projectId}/pitr/enable`, {});
  const schedule = await post('/schedules', { projectId: shop.projectId, name: 'Nightly', cron: '0 2 * * *' });
  const pitr = () => app.request('GET', `/api/v1/projects/${shop.projectId}/pitr`, shop.as);
  await vi.waitFor(async () => expect((await pitr()).body.data.coveredFrom).not.toBeNull(), 60_000);
  const paths = [
    '',
    '/start',
    '/projects',
    '/projects?new=1',
    `/projects/${shop.projectId}`,
    '/backups',
    '/backups?new=1',
    `/backups/${backupId}`,
    `/backups/${backupId}/browse/bikes/one`,
    `/backups/${backupId}/compare`,
    '/schedules',
    '/schedules/new',
    `/schedules/${schedule.body.data.id}`,
    '/storage',
    '/storage?new=1',
    `/storage/${shop.destinationId}`,
    '/find?q=bikes/one',
    `/projects/${shop.projectId}/documents/bikes/one`,
    '/restores',
    '/restores?tab=drills',
    `/projects/${shop.projectId}/time`,
    `/restores/new?backupId=${backupId}`,
    `/restores/new?backupId=${backupId}&documents=bikes/one`,
    `/restores/${restore.body.data.id}`,
    '/webhooks',
    `/webhooks/${webhook.body.data.id}`,
    `/webhooks/${webhook.body.data.id}?tab=settings`,
    '/team',
    '/audit',
    '/settings',
    '/settings?tab=notifications',
    '/settings?tab=key',
    '/settings?tab=encryption',
    '/settings?tab=plan',
    '/settings?tab=danger',
    '/nothing',
  ];
  return { shop, paths };
}
