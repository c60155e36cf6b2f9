import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('what was done is told as it was', () => {
  let dashboard: TestDashboard;
  let owner: Visitor;
  let shop: Shop;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    for (let n = 0; n < 12; n++) await shop.documents.doc(`bikes/B-${n}`).set({ n });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('a restore that is stopped by hand is no failure, says by whom, and leads on to its undo', async () => {
    const { page } = owner;
    const backupId = await shop.backUp();
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const body = { backupId, collections: ['bikes'] };
    const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
    await page.goto(`/o/${shop.slug}/restores/${made.body.data.id}`);
    await page.getByText('0 of 12 documents').waitFor();
    await page.getByRole('button', { name: 'Stop and undo…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Stop', exact: true }).click();
    const isAsked = async () =>
      (await dashboard.app.request('GET', '/api/v1/audit-logs?action=restore.cancelled', shop.as)).body.data.length;
    await expect.poll(isAsked).toBe(1);
    release();
    shop.firestore.control.clearFaults();
    await page.getByRole('heading', { name: 'Undo this restore?' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(`Stopped by ${shop.owner.email}`).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByText('CANCELLED').count()).toBe(0);
  });

  test('the log says what a restore was of, from where, into what and how, and stands in its chain', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/audit`);
    const rowOf = (action: string) => page.getByRole('row').filter({ hasText: action });
    await rowOf('restore.cancelled').filter({ hasText: 'Restore of bikes' }).waitFor();
    await rowOf('restore.stopped')
      .filter({ hasText: `Restore of bikes, as ${shop.owner.email} asked` })
      .waitFor();
    await rowOf('backup.completed').filter({ hasText: 'Backup of Shop' }).first().waitFor();
    await page.getByText(/Kept for \d+ days/).waitFor();
    await rowOf('restore.created').filter({ hasText: 'Restore of bikes' }).last().getByRole('button').click();
    await page.getByText('Overwrite, safety backup first').waitFor();
    await page.getByText('Entry after').waitFor();
    const { data } = (await dashboard.app.request('GET', '/api/v1/audit-logs?limit=2', shop.as)).body;
    expect(data[0].previousHash).toBe(data[1].hash);
  });

  test('characters that turn the direction of a text are shown, and turn nothing around them', async () => {
    const { page } = owner;
    await shop.documents.doc('odd/turned').set({ '\u202Eoverride': 'a\u202Eb' });
    await shop.backUp();
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/odd/turned`);
    await page.getByRole('row', { name: /U\+202E ?override/ }).waitFor();
    const [value] = await page.getByRole('cell').filter({ hasText: 'U+202E' }).allInnerTexts();
    expect(value?.replaceAll(/\s/g, '')).toContain('"aU+202Eb"');
  });
});
