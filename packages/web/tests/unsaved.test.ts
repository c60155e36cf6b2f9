// @module-tag long
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addMember } from '../../server/testing/team.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
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
    // Another tab shows another form.
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
    const plan = page.getByLabel('Plan', { exact: true });
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
    // A browser lets a page refuse Escape only once; the next one closes the dialog.
    for (let times = 0; times < 4; times += 1) {
      await page.keyboard.press('Escape');
      await (times % 2 === 0 ? question.waitFor() : question.waitFor({ state: 'detached' }));
    }
    expect(await email.isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await read('/organizations/current/invites')).body.data).toMatchObject([{ email: 'grace@example.com' }]);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('is not lost when the window becomes narrow or wide: rows and cards are drawn anew, a dialog stays', async () => {
    const { page } = owner;
    const member = await addMember(dashboard.app, shop.organizationId, 'member');
    await shop.backUp();
    const dialog = page.getByRole('dialog');
    const hasFocus = (button: Locator) => button.evaluate((element) => element.matches(':focus'));
    const resized = async (list: string, look: () => Promise<void>) => {
      for (const [size, role] of [[phone, 'list'] as const, [desktop, 'table'] as const]) {
        await page.setViewportSize(size);
        await page.getByRole(role, { name: list, includeHidden: true }).waitFor({ state: 'attached' });
        await look();
      }
    };
    await page.goto(`/o/${shop.slug}/team`);
    const row = page.getByRole('row').filter({ hasText: member.email });
    await row.getByRole('button', { name: /^Role of / }).click();
    await dialog.getByRole('radio', { name: /^Owner/ }).check({ force: true });
    await dialog.getByRole('textbox').fill(member.email);
    await resized('Team', async () => {
      expect(await dialog.getByRole('radio', { name: /^Owner/ }).isChecked()).toBe(true);
      expect(await dialog.getByRole('textbox').inputValue()).toBe(member.email);
    });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await hasFocus(row.getByRole('button', { name: /^Role of / }))).toBe(true);
    await row.getByRole('button', { name: 'Remove' }).click();
    await resized('Team', () => dialog.getByRole('button', { name: 'Remove' }).waitFor());
    await page.keyboard.press('Escape');

    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('row').getByRole('button', { name: 'More actions' }).first().click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await resized('Backups', () => dialog.getByRole('button', { name: 'Delete' }).waitFor());
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await hasFocus(page.getByRole('row').getByRole('button', { name: 'More actions' }).first())).toBe(true);
  });

  test('is not lost by leaving what connects, imports, backs up or switches on, and what was taken is left without a question', async () => {
    const { page } = owner;
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    const closed = () => page.getByRole('dialog').waitFor({ state: 'detached' });
    const stays = async (how: () => Promise<unknown> = () => page.keyboard.press('Escape')) => {
      await how();
      await question.getByRole('button', { name: 'Stay here' }).click();
      await question.waitFor({ state: 'detached' });
    };
    const leaves = async () => {
      await page.keyboard.press('Escape');
      await closed();
    };

    await page.goto(`/o/${shop.slug}/projects`);
    await page.getByRole('button', { name: 'Connect a project' }).first().click();
    const key = { type: 'service_account', project_id: 'riders', client_email: 'a@riders.example', private_key: 'x' };
    const file = { name: 'key.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(key)) };
    await page.getByLabel('Key of the service account').setInputFiles(file);
    await page.getByText('a@riders.example').waitFor();
    await stays();
    await stays(() => page.goBack());
    await page.getByText('a@riders.example').waitFor();
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Leave without saving' }).click();
    await closed();
    await page.getByRole('button', { name: 'Connect a project' }).first().click();
    await page.getByText('Emulator', { exact: true }).click();
    await page.getByLabel('Address of the emulator').fill(`${shop.firestore.host}:${shop.firestore.port}`);
    await page.getByLabel('Google project id').fill('shop-two');
    await stays();
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.waitForURL(/\/projects\/prj_/);

    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('Path in it').fill('exports/shop.json');
    await stays();
    expect(await page.getByLabel('Path in it').inputValue()).toBe('exports/shop.json');
    await page.getByLabel('Path in it').fill('');
    await leaves();
    await page.getByRole('button', { name: 'Back up now' }).click();
    await page.getByLabel('Collections', { exact: true }).fill('bikes');
    await stays();
    await page.getByRole('button', { name: 'Back up', exact: true }).click();
    await page.waitForURL(/\/backups\/bkp_/);

    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/time`);
    await page.getByRole('button', { name: 'Switch it on…' }).click();
    const days = page.getByLabel('Days to keep');
    await days.fill('14');
    await stays();
    await stays(() => page.goBack());
    expect(await days.inputValue()).toBe('14');
    await page.getByRole('button', { name: 'Switch it on', exact: true }).click();
    await closed();
    expect((await read(`/projects/${shop.projectId}/pitr`)).body.data).toMatchObject({ retentionDays: 14 });
  });

  test('gives way to what is there already, when somebody chooses that in the first steps', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/start`);
    await page.getByRole('button', { name: /^Change: .* is connected$/ }).click();
    await page.getByLabel('Name', { exact: true }).fill('Half of a na');
    const { name, id } = (await read(`/projects/${shop.projectId}`)).body.data;
    await page.getByRole('button', { name, exact: true }).click();
    await page.waitForURL(`**/start?project=${id}`);
    await page.getByRole('link', { name: 'Later' }).click();
    await page.waitForURL(`**/o/${shop.slug}`);
  });

  test('is not lost beside an API key, and the key itself is let go only by who has copied it or says so', async () => {
    const { page, context } = owner;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`/o/${shop.slug}/settings`);
    await page.getByRole('link', { name: 'API key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Pipeline');
    await page.getByRole('link', { name: 'Backups', exact: true }).first().click();
    await page
      .getByRole('dialog', { name: 'Leave without saving?' })
      .getByRole('button', { name: 'Stay here' })
      .click();
    await page.getByRole('button', { name: 'Create API key' }).click();
    const shown = page.getByRole('dialog', { name: 'The API key' });
    const secret = shown.locator('[data-secret]');
    const first = await secret.textContent();
    const question = page.getByRole('dialog', { name: 'Close without the secret?' });
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => shown.getByRole('button', { name: 'Close' }).click(),
      () => page.goBack(),
    ]) {
      await close();
      await question.getByRole('button', { name: 'Stay here' }).click();
      await question.waitFor({ state: 'detached' });
      expect(await secret.textContent()).toBe(first);
    }
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    await shown.waitFor({ state: 'detached' });

    const copies: (() => Promise<unknown>)[] = [
      () => shown.getByRole('button', { name: 'Copy' }).click(),
      async () => {
        await secret.click({ clickCount: 3 });
        await page.keyboard.press('Control+c');
      },
      async () => {
        // As without HTTPS, where browsers refuse the clipboard API.
        await page.evaluate('navigator.clipboard.writeText = undefined');
        await shown.getByRole('button', { name: 'Copy' }).click();
      },
    ];
    for (const copy of copies) {
      await page.getByRole('button', { name: 'New key' }).click();
      const made = await secret.textContent();
      expect(made).not.toBe(first);
      await copy();
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(made);
      await page.keyboard.press('Escape');
      await shown.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'New key' }).click();
    await shown.waitFor();
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Close without it' }).click();
    await shown.waitFor({ state: 'detached' });
  });
});
