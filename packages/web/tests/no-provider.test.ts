import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';

describe.skipIf(!hasChromium)('without an identity provider', () => {
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard();
  });
  afterAll(() => dashboard.close());

  test('the link that was used leads on who is signed in, and an invitation sends nobody to the link of the owner', async () => {
    const { page } = await dashboard.visit();
    const signInLink = dashboard.app.signInLink ?? '';
    await page.goto(signInLink);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/o/my-organization/start');
    await page.goto(signInLink);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'This link has been used, or is too old' }).waitFor();
    await page.getByText('You are signed in already, as owner@holdfast.local.').waitFor();
    await page.getByRole('link', { name: 'Go to Overview' }).click();
    await page.waitForURL('**/o/my-organization/start');

    await page.goto('/o/my-organization/team?new=1');
    await page.getByText('Nobody but the owner can sign in yet').waitFor();
    await page.getByLabel('E-mail address').fill('grace@example.com');
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByText('grace@example.com').waitFor();
    const sent = () => /http\S+invitations\/accept\?token=[\w-]+/.exec(dashboard.app.logged())?.[0];
    await expect.poll(sent).toBeDefined();

    const guest = await dashboard.visit();
    await guest.page.goto(sent() ?? '');
    await guest.page.getByText('Nobody but the owner can sign in yet').waitFor();
    expect(await guest.page.getByText('Open the link the server printed').count()).toBe(0);
  });
});
