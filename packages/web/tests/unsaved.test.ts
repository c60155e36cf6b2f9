import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('what somebody typed and did not save', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  const read = (path: string) => dashboard.app.request('GET', `/api/v1${path}`, shop.as);
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('a half-filled form is left after a question, and one that was saved without', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/schedules`);
    await page.getByRole('link', { name: 'Add a schedule' }).first().click();
    const collections = page.getByLabel('Collections', { exact: true });
    await collections.fill('bikes');
    const leaves: (() => Promise<unknown>)[] = [
      () => page.getByRole('link', { name: 'Backups', exact: true }).first().click(),
      () => page.goBack(),
    ];
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    for (const leave of leaves) {
      await leave();
      await question.getByRole('button', { name: 'Stay here' }).click();
      await question.waitFor({ state: 'detached' });
      expect(new URL(page.url()).pathname).toBe(`/o/${shop.slug}/schedules/new`);
      expect(await collections.inputValue()).toBe('bikes');
    }
    await collections.fill('');
    await page.getByRole('link', { name: 'Backups', exact: true }).first().click();
    await page.waitForURL('**/backups');

    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByLabel('Reads per second at most').fill('900');
    await page.getByRole('link', { name: 'Schedules', exact: true }).first().click();
    await question.getByRole('button', { name: 'Stay here' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect((await read(`/projects/${shop.projectId}`)).body.data.settings.readRateLimit).toBe(900);
    await page.getByRole('link', { name: 'Schedules', exact: true }).first().click();
    await page.waitForURL('**/schedules');

    await page.goto(`/o/${shop.slug}/storage?new=1`);
    await page.getByLabel('Access key ID').fill('AKIA');
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForURL('**/storage');
  });

  test('is not lost by leaving the settings, and once it is saved nobody is asked', async () => {
    const { page } = owner;
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    const leave = () => page.getByRole('link', { name: 'Backups', exact: true }).first().click();
    const stays = async (tab: string) => {
      await leave();
      await question.getByRole('button', { name: 'Stay here' }).click();
      await question.waitFor({ state: 'detached' });
      expect(new URL(page.url()).search).toBe(tab);
    };
    const leaves = async () => {
      await leave();
      await page.waitForURL('**/backups');
    };
    const save = async () => {
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved', { exact: true }).waitFor();
    };

    await page.goto(`/o/${shop.slug}/settings`);
    const name = page.getByLabel('Name of the organization');
    const before = await name.inputValue();
    await name.fill('Riders');
    await stays('');
    // Another tab is another form.
    await page.getByRole('link', { name: 'Notifications' }).click();
    await question.getByRole('button', { name: 'Stay here' }).click();
    await name.fill(before);
    await leaves();
    await page.goto(`/o/${shop.slug}/settings`);
    await name.fill('Riders');
    await save();
    await leaves();

    await page.goto(`/o/${shop.slug}/settings?tab=notifications`);
    await page.getByText('Nobody', { exact: true }).click();
    await stays('?tab=notifications');
    await save();
    await leaves();

    await page.goto(`/o/${shop.slug}/settings?tab=encryption`);
    const passphrase = page.getByLabel('Passphrase', { exact: true });
    await passphrase.fill('a sentence that nobody guesses');
    await stays('?tab=encryption');
    await passphrase.fill('');
    await leaves();

    await page.goto(`/o/${shop.slug}/settings?tab=plan`);
    const plan = page.getByLabel('Plan');
    const former = await plan.inputValue();
    await plan.selectOption({ index: former === 'starter' ? 1 : 0 });
    await stays('?tab=plan');
    await plan.selectOption(former);
    await leaves();
  });

  test('is not lost by closing an invitation, and one that was sent closes by itself', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/team`);
    await page.getByRole('button', { name: 'Invite' }).click();
    const email = page.getByLabel('E-mail address');
    await email.fill('grace@example.com');
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    for (const close of [() => page.keyboard.press('Escape'), () => page.goBack()]) {
      await close();
      await question.getByRole('button', { name: 'Stay here' }).click();
      await question.waitFor({ state: 'detached' });
      expect(await email.inputValue()).toBe('grace@example.com');
    }
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await read('/organizations/current/invites')).body.data).toMatchObject([{ email: 'grace@example.com' }]);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
