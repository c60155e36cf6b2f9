import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
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
    await post(`/projects/${shop.projectId}/pitr/enable`, {});
    const pitr = () => dashboard.app.request('GET', `/api/v1/projects/${shop.projectId}/pitr`, shop.as);
    await vi.waitFor(async () => expect((await pitr()).body.data.coveredFrom).not.toBeNull(), 60_000);
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
      '/settings?tab=danger',
      '/nothing',
    ];
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('can be used without a mouse or without sight, on a desk and on a phone, in the light and in the dark', {
    timeout: 240_000,
  }, async () => {
    const { page } = await dashboard.visit(shop.as.token, desktop);
    const found: string[] = [];
    for (const path of [
      ...paths.map((path) => `/o/${shop.slug}${path}`),
      '/account',
      '/sign-in',
      '/organizations/new',
    ]) {
      await page.setViewportSize(desktop);
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await page.waitForTimeout(200);
      for (const [screen, viewport] of Object.entries({ desk: desktop, phone })) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme: 'light' });
        const note = (finding: string) => found.push(`${path} on a ${screen}: ${finding}`);
        for (const finding of await findings(page)) note(finding);
        const overflow = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
        if (overflow > 1) note(`is ${overflow} px wider than the screen`);
        // In the dark the page is the same but for its colours.
        await page.emulateMedia({ colorScheme: 'dark' });
        await page.locator('html.dark').waitFor({ state: 'attached' });
        for (const finding of await findings(page, 'color-contrast')) note(`in the dark: ${finding}`);
      }
    }
    expect(found).toEqual([]);
  });
});
