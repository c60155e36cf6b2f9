import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findings } from '../testing/accessibility.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('every page', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let paths: string[];
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1, tags: ['a', 'b'], place: { street: 'Rua' }, none: null });
    const backupId = await shop.backUp();
    await shop.documents.doc('bikes/one').set({ number: 2 });
    await shop.backUp('incremental');
    const post = (path: string, body: unknown) => dashboard.app.request('POST', `/api/v1${path}`, { ...shop.as, body });
    const restore = await post('/backups/restore', { backupId, options: { dryRun: true } });
    const webhook = await post('/webhooks', { name: 'Hook', url: 'https://hooks.example/x', events: ['backup.*'] });
    await post('/organizations/current/invites', { email: 'new@example.com' });
    paths = [
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
      '/storage',
      '/storage?new=1',
      `/storage/${shop.destinationId}`,
      '/find?q=bikes/one',
      `/projects/${shop.projectId}/documents/bikes/one`,
      '/restores',
      `/restores/new?backupId=${backupId}`,
      `/restores/${restore.body.data.id}`,
      '/webhooks',
      `/webhooks/${webhook.body.data.id}`,
      `/webhooks/${webhook.body.data.id}?tab=settings`,
      '/team',
      '/audit',
      '/settings',
      '/settings?tab=key',
      '/settings?tab=encryption',
      '/settings?tab=danger',
      '/nothing',
    ];
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test.for([
    { name: 'a desk in the light', viewport: desktop, colorScheme: 'light' as const },
    { name: 'a desk in the dark', viewport: desktop, colorScheme: 'dark' as const },
    { name: 'a phone in the light', viewport: phone, colorScheme: 'light' as const },
    { name: 'a phone in the dark', viewport: phone, colorScheme: 'dark' as const },
  ])('can be used without a mouse or without sight: $name', { timeout: 240_000 }, async ({ viewport, colorScheme }) => {
    const { page } = await dashboard.visit(shop.as.token, viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found: string[] = [];
    for (const path of [
      ...paths.map((path) => `/o/${shop.slug}${path}`),
      '/account',
      '/sign-in',
      '/organizations/new',
    ]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await page.waitForTimeout(200);
      found.push(...(await findings(page)).map((finding) => `${path}: ${finding}`));
      const overflow = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
      if (overflow > 1) found.push(`${path}: is ${overflow} px wider than the screen`);
    }
    expect(found).toEqual([]);
  });
});
