import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('who works by keys and by ear', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  const focusNow = async () =>
    (await owner.page.evaluate('document.activeElement.innerText || document.activeElement.name || ""')) as string;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (let number = 0; number < 20; number++) await shop.documents.doc(`bikes/b${number}`).set({ number });
    await shop.backUp();
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('stands at the first field that was refused', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/webhooks?new=1`);
    const address = page.getByLabel('Address');
    await page.getByLabel('Name', { exact: true }).fill('On-call');
    await address.fill('http://hooks.example/x');
    for (let time = 0; time < 2; time++) {
      await page.getByRole('button', { name: 'Add webhook' }).click();
      await page.getByText('Must be a valid HTTPS URL.').waitFor();
      await expect.poll(() => address.evaluate((element) => element.matches(':focus'))).toBe(true);
    }
    expect(await address.getAttribute('aria-invalid')).toBe('true');
  });

  test('stands at the field of which a part was refused: a line of a list, a piece of a key', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const dialog = page.getByRole('dialog');
    await page.goto(`/o/${shop.slug}/backups?new=1`);
    await dialog.getByLabel('Collections').fill('bikes, a/b');
    await dialog.getByRole('button', { name: 'Back up', exact: true }).click();
    await dialog.locator('input[aria-invalid]:focus').waitFor();
    expect(await dialog.getByLabel('Collections').getAttribute('aria-invalid')).toBe('true');

    await page.goto(`/o/${shop.slug}/projects?new=1`);
    const file = dialog.locator('input[type=file]');
    const give = (name: string, text: string) =>
      file.setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    const key = { type: 'service_account', project_id: 'acme', client_email: 'a@acme.iam', private_key: 'cut off' };
    await give('half.json', JSON.stringify(key).slice(0, 60));
    await dialog.getByText('half.json is not JSON, or only a part of it.').waitFor();
    await give('client.json', '{"web":{}}');
    await dialog.getByText(/^client.json is not the key of a service account/).waitFor();
    await give('video.json', 'x'.repeat(200_000));
    await dialog.getByText('video.json is far too large for a key file.').waitFor();
    const opens = await page.evaluate(`['dragover', 'drop'].filter((kind) =>
      document.querySelector('dialog').dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true })))`);
    expect(opens).toEqual([]);
    await give('key.json', JSON.stringify(key));
    await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
    await dialog.locator('input[type=file][aria-invalid]:focus').waitFor();
    await dialog.getByText(/^Must be the private key as it stands in the key file/).waitFor();
  });

  test('stays at the button whose deed was refused for another reason', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects?new=1`);
    await page.getByText('Emulator', { exact: true }).click();
    await page.getByLabel('Address of the emulator').fill('127.0.0.1:1');
    await page.getByLabel('Google project id').fill('nobody');
    const connect = page.getByRole('button', { name: 'Connect', exact: true });
    await connect.click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await connect.evaluate((element) => element.matches(':focus'))).toBe(true);
  });

  test.each([
    ['/projects', 'Connect a project'],
    ['/backups', 'Back up now'],
    ['/storage', 'Add storage'],
    ['/webhooks', 'Add a webhook'],
    ['/team', 'Invite'],
  ])('closes the dialog of %s by Cancel and by Escape, and stands at its button again', async (path, opens) => {
    const { page } = owner;
    await goInside(page, shop.slug, path);
    const dialog = page.getByRole('dialog');
    for (const close of [
      () => dialog.getByRole('button', { name: 'Cancel', exact: true }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      await page.getByRole('button', { name: opens }).first().click();
      await dialog.waitFor();
      // The primary button is the last one, after Cancel.
      const buttons = await dialog.locator('form').getByRole('button').allInnerTexts();
      expect(buttons.at(-2), `${path}: ${buttons}`).toBe('Cancel');
      await close();
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(focusNow).toContain(opens);
    }
  });

  test('begins a page at its title', { tags: 'long' }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects`);
    await page.getByRole('link', { name: /^Shop/ }).last().press('Enter');
    await page.getByRole('heading', { name: 'Shop', level: 1 }).waitFor();
    await expect.poll(focusNow).toBe('Shop');
    await page.getByRole('link', { name: 'Schedules', exact: true }).first().click();
    await expect.poll(focusNow).toBe('Schedules');
    await page.getByRole('link', { name: 'Add a schedule' }).first().click();
    await page.getByRole('heading', { name: 'Nightly', level: 1 }).waitFor({ state: 'attached' });
    await expect.poll(focusNow).toBe('Nightly');
    await page.getByRole('link', { name: 'Overview', exact: true }).first().click();
    await expect.poll(focusNow).toBe('Overview');
    const { id } = (await dashboard.app.request('GET', '/api/v1/backups', shop.as)).body.data[0];
    await goInside(page, shop.slug, `/backups/${id}`);
    await page.getByRole('link', { name: 'Look inside' }).press('Enter');
    await page.locator('h1:focus', { hasText: 'Look inside' }).waitFor();
    await page.getByRole('link', { name: 'bikes' }).first().press('Enter');
    await page.getByRole('link', { name: 'b1', exact: true }).press('Enter');
    await page.getByRole('link', { name: 'All versions' }).press('Enter');
    await expect.poll(focusNow).toContain('b1');
    await goInside(page, shop.slug, `/backups/${id}`);
    await page.getByRole('link', { name: 'Restore…' }).press('Enter');
    await expect.poll(focusNow).toBe('Restore');
  });

  test('hears each tenth of a restore, and how it ended', { tags: 'long' }, async () => {
    const { page } = owner;
    const { app } = dashboard;
    const { id: backupId } = (await app.request('GET', '/api/v1/backups', shop.as)).body.data[0];
    let go = () => {};
    const until = new Promise<void>((resolve) => {
      go = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const restore = await app.request('POST', '/api/v1/backups/restore', { ...shop.as, body: { backupId } });
    await page.goto(`/o/${shop.slug}/restores/${restore.body.data.id}`);
    const told = page.locator('#root > [role=status]');
    await expect.poll(() => told.textContent()).toMatch(/^Restoring everything.*: \d?0 percent$/);
    shop.firestore.control.clearFaults();
    go();
    await expect.poll(() => told.textContent()).toMatch(/^Restored everything/);
  });
});
