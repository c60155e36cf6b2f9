// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findings, namesakes } from '../testing/accessibility.ts';
import { desktop, hasChromium, phone } from '../testing/browser.ts';
import { type EveryPage, goInside, openEveryPage } from '../testing/every-page.ts';

/** Has the heading of the address that goInside passes, so it is loaded. */
const nowhere = '/nothing';

/** Ordered so that one thing changes at a time, because each change costs a layout. */
const looks = [
  { screen: 'desk', viewport: desktop, colorScheme: 'light', onlyColours: false },
  { screen: 'desk', viewport: desktop, colorScheme: 'dark', onlyColours: true },
  { screen: 'phone', viewport: phone, colorScheme: 'dark', onlyColours: false },
  { screen: 'phone', viewport: phone, colorScheme: 'light', onlyColours: true },
] as const;

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
    const inside = paths.filter((path) => path !== nowhere);
    const pages = [
      ...inside.map((path) => ({ path, open: () => goInside(page, shop.slug, path) })),
      ...[`/o/${shop.slug}${nowhere}`, '/account', '/sign-in', '/organizations/new'].map((path) => ({
        path,
        open: () => page.goto(path),
      })),
    ];
    const look = async ({ viewport, colorScheme }: Pick<(typeof looks)[number], 'viewport' | 'colorScheme'>) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const state = colorScheme === 'dark' ? 'attached' : 'detached';
      await page.locator('html.dark').waitFor({ state });
    };
    for (const { path, open } of pages) {
      await look({ viewport: desktop, colorScheme: 'light' });
      await open();
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await page.waitForTimeout(200);
      for (const one of looks) {
        await look(one);
        const note = (finding: string) => found.push(`${path} on a ${one.screen}, ${one.colorScheme}: ${finding}`);
        // The other theme differs in colours only.
        // On a phone a whole row is one link, and rows may have the same text.
        if (one === looks[0]) for (const name of await namesakes(page)) note(`several buttons are called ${name}`);
        for (const finding of await findings(page, one.onlyColours ? 'color-contrast' : undefined)) note(finding);
        const overflow = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
        if (overflow > 1) note(`is ${overflow} px wider than the screen`);
      }
    }
    expect(found).toEqual([]);
  });
});
