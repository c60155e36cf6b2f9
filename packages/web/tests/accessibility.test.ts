import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findings } from '../testing/accessibility.ts';
import { desktop, hasChromium, phone } from '../testing/browser.ts';
import { type EveryPage, openEveryPage } from '../testing/every-page.ts';

describe.skipIf(!hasChromium)('every page', () => {
  let all: EveryPage;
  beforeAll(async () => {
    all = await openEveryPage();
  });
  afterAll(() => all.close());

  test('can be used without a mouse or without sight, on a desk and on a phone, in the light and in the dark', {
    timeout: 360_000,
  }, async () => {
    const { dashboard, shop, paths } = all;
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
