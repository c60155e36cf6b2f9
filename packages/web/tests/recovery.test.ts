import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('what was lost comes back', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents
      .doc('bookings/BK-204418')
      .set({ status: 'paid', amount: 48.5, at: new Date('2025-11-18T09:30:00Z') });
    for (let number = 0; number < 30; number++) await shop.documents.doc(`bikes/B-${number}`).set({ number });
    await shop.backUp();
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('a deleted document opened by its path shows what it was and is restored by keyboard; undo takes it away again', async () => {
    const { page } = owner;
    await shop.documents.doc('bookings/BK-204418').delete();
    await shop.backUp('incremental');
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/bookings/BK-204418`);
    await page.getByText('"paid"').waitFor();
    await page.getByRole('heading', { name: /BK-204418/ }).waitFor();
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'This is what will happen' }).waitFor();
    await expect.poll(() => page.locator('[data-count=create]').textContent()).toBe('1');
    await page.getByText('fields that were added since go. No other document is touched.').waitFor();
    expect((await shop.documents.doc('bookings/BK-204418').get()).exists).toBe(false);

    const button = page.getByRole('button', { name: 'Restore 1 document' });
    for (let presses = 0; presses < 60 && !(await button.evaluate((element) => element.matches(':focus'))); presses++)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Restored bookings\/BK-204418/ }).waitFor();
    const back = await shop.documents.doc('bookings/BK-204418').get();
    expect(back.data()).toMatchObject({ status: 'paid', amount: 48.5 });
    const restored = await dashboard.app.request('GET', '/api/v1/backups/restore', shop.as);
    expect(restored.body.data[0]).toMatchObject({
      displayStatus: 'Success',
      documentsRestored: 1,
      documentIds: ['bookings/BK-204418'],
    });

    const first = restored.body.data[0].id as string;
    await page.getByRole('button', { name: 'Undo…', exact: true }).click();
    await page.getByText('1 document that the restore created goes.').waitFor();
    await page.getByRole('button', { name: 'Undo the restore' }).click();
    await page.getByRole('heading', { name: /^Undone: the restore of bookings\/BK-204418/ }).waitFor();
    expect((await shop.documents.doc('bookings/BK-204418').get()).exists).toBe(false);
    await page.getByText('1 document removed', { exact: true }).waitFor();
    // The dialog is closed: on the page of the undo it would ask about the undo.
    expect(await page.getByRole('dialog').count()).toBe(0);
    const undo = (await dashboard.app.request('GET', '/api/v1/backups/restore', shop.as)).body.data;
    expect(undo.filter(({ undoOf, dryRun }: { undoOf: string; dryRun: boolean }) => undoOf && !dryRun)).toMatchObject([
      { undoOf: first, documentsDeleted: 1 },
    ]);
    await page.getByRole('link', { name: 'bookings/BK-204418' }).click();
    await page.getByRole('heading', { name: 'This was undone' }).waitFor();
  });

  test('what stands there now is asked of the database: where it refuses, nothing is called now, and the way to mend it is there', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    await shop.documents.doc('bookings/seen').set({ status: 'paid' });
    await shop.backUp('incremental');
    await shop.documents.doc('bookings/seen').delete();
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bookings/seen`);
    await page.getByText('Restoring brings the document back, with 1 field.').waitFor();
    await shop.documents.doc('bookings/seen').set({ status: 'broken' });
    shop.firestore.control.addFault({ method: 'BatchGetDocuments', status: 'PERMISSION_DENIED' });
    await page.reload();
    await page.getByText('What is there now is not known').waitFor();
    await page.getByRole('columnheader', { name: /^Newest known/ }).waitFor();
    expect(await page.locator('[data-live]').getAttribute('data-live')).toBe('unknown');
    expect(await page.getByRole('columnheader', { name: /^Now/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Restore this version…' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Reconnect Shop' }).waitFor();
    await page.getByRole('link', { name: 'Restore it elsewhere…' }).click();
    await page.getByRole('heading', { name: 'Where is it written?', level: 2 }).waitFor();
    shop.firestore.control.clearFaults();
    await page.goBack();
    await page.getByRole('columnheader', { name: /^Now live, read/ }).waitFor();
    await page.getByRole('row').filter({ hasText: 'broken' }).waitFor();
    await shop.documents.doc('bookings/seen').delete();
  });

  /** The next tests use these backups. One that is being verified cannot be deleted yet. */
  async function untilDeleted(id: string): Promise<void> {
    const remove = () => dashboard.app.request('DELETE', `/api/v1/backups/${id}`, shop.as);
    await expect.poll(async () => (await remove()).body.error?.code).toBe('BACKUP_NOT_FOUND');
  }

  test('a backup that cannot be read hides no version that others hold', { tags: 'long' }, async () => {
    const { page } = owner;
    await shop.documents.doc('bookings/kept').set({ status: 'first' });
    await shop.backUp();
    await shop.documents.doc('bookings/kept').set({ status: 'second' });
    const lost = await shop.backUp();
    const root = join(dashboard.app.folder, 'storage', shop.organizationId);
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
      if (entry.isDirectory() && entry.name === lost) await rm(join(entry.parentPath, lost), { recursive: true });
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bookings/kept`);
    await page.getByText('1 backup could not be read.').waitFor();
    await page.getByRole('row').filter({ hasText: 'first' }).filter({ hasText: 'second' }).waitFor();
    await untilDeleted(lost);
  });

  test('a link into a backup that failed says so and leads to its reason', { tags: 'long' }, async () => {
    const { page } = owner;
    shop.firestore.control.addFault({ method: 'RunQuery', status: 'PERMISSION_DENIED' });
    const body = { projectId: shop.projectId };
    const { data } = (await dashboard.app.request('POST', '/api/v1/backups', { ...shop.as, body })).body;
    const read = () => dashboard.app.request('GET', `/api/v1/backups/${data.id}`, shop.as);
    await expect.poll(async () => (await read()).body.data.status).toBe('failed');
    shop.firestore.control.clearFaults();
    for (const inside of ['browse', 'compare']) {
      await goInside(page, shop.slug, `/backups/${data.id}/${inside}`);
      await page.getByRole('heading', { name: 'This backup failed' }).waitFor();
      expect(await page.getByText('What changed from').count()).toBe(0);
      await page.getByRole('link', { name: 'Open the backup' }).click();
      await page.waitForURL(`**/backups/${data.id}`);
    }
    await untilDeleted(data.id);
    await page.goto(`/o/${shop.slug}/backups/${data.id}/compare`);
    await page.getByText('NOT_FOUND').waitFor();
  });

  test('a restore that the target refused claims no phase it did not see, and offers nothing to undo', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const body = { backupId: await shop.backUp() };
    shop.firestore.control.addFault({ method: 'BatchWrite', status: 'PERMISSION_DENIED' });
    try {
      const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
      expect(made.status, made.text).toBe(202);
      await goInside(page, shop.slug, `/restores/${made.body.data.id}`);
      await page.getByText('The target refused our writes').waitFor();
    } finally {
      shop.firestore.control.clearFaults();
    }
    const phases = page.getByRole('listitem');
    await phases.filter({ hasText: /^InitializingThe target answers$/ }).waitFor();
    expect(await phases.getByText(/takes writes|are told/).count()).toBe(0);
    await page.getByRole('heading', { name: 'Nothing was written' }).waitFor();
    expect(await page.getByRole('button', { name: 'Undo…', exact: true }).count()).toBe(0);
    expect(await page.getByText('Could not be written').count()).toBe(0);
  });

  test('the times of the phases are of the restore that is shown, not of the one before', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const { data } = (await dashboard.app.request('GET', '/api/v1/backups?type=full&trigger=manual', shop.as)).body;
    const body = { backupId: data.at(-1).id, documentIds: ['bikes/B-1'] };
    const start = async () =>
      (await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body })).body;
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const first = (await start()).data.id as string;
    await goInside(page, shop.slug, `/restores/${first}`);
    await page.locator('[aria-current=step]').filter({ hasText: 'Restoring' }).waitFor();
    release();
    const times = page.getByRole('listitem').locator('time');
    await expect.poll(() => times.count()).toBeGreaterThan(0);
    shop.firestore.control.clearFaults();
    await page.getByRole('button', { name: 'Undo…', exact: true }).click();
    await page.getByRole('button', { name: 'Undo the restore' }).click();
    await page.getByRole('heading', { name: /^Undone/ }).waitFor();
    const started = (await dashboard.app.request('GET', '/api/v1/backups/restore', shop.as)).body.data[0];
    expect(started.undoOf).toBe(first);
    for (const time of await times.all())
      expect((await time.getAttribute('datetime')) ?? '').toSatisfy((at: string) => at >= started.createdAt);
  });

  test('a whole restore asks for the name of the database, then shows its eight phases', async () => {
    const { page } = owner;
    await shop.documents.doc('bikes/B-1').set({ number: 'broken' });
    await shop.documents.doc('bikes/stray').set({ number: -1 });
    const full = await dashboard.app.request('GET', '/api/v1/backups?type=full&trigger=manual', shop.as);
    const backupId = full.body.data.at(-1).id as string;
    await page.goto(`/o/${shop.slug}/backups?type=full&trigger=manual`);
    await page
      .getByRole('row', { name: /Completed Full/ })
      .first()
      .waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('c');
    await page.waitForURL('**/compare?against=live');
    await goInside(page, shop.slug, `/backups/${backupId}`);
    await page.getByRole('link', { name: 'Restore…' }).waitFor();
    await page.keyboard.press('r');
    await page.getByText('Some collections').click();
    await page.getByRole('checkbox', { name: /bikes/ }).check();
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('button', { name: 'Continue', exact: true }).first().click();
    await page.getByRole('checkbox', { name: /Also remove/ }).check();
    await page.getByRole('button', { name: 'Continue', exact: true }).last().click();
    await page.getByRole('heading', { name: 'This is what will happen' }).waitFor();
    expect(await page.locator('[data-count=delete]').textContent()).toBe('1');
    const button = page.getByRole('button', { name: 'Restore 31 documents' });
    expect(await button.isDisabled()).toBe(true);
    await page.getByRole('textbox').fill('shop');
    await button.click();
    await page.getByRole('heading', { name: /^Restored bikes/ }).waitFor();
    const phases = await page
      .getByRole('listitem')
      .filter({
        hasText: /Initializing|Downloading|Decrypting|Decompressing|Validating|Restoring|Finalizing|Completed/,
      })
      .count();
    expect(phases).toBe(8);
    expect((await shop.documents.doc('bikes/B-1').get()).data()).toEqual({ number: 1 });
    expect((await shop.documents.doc('bikes/stray').get()).exists).toBe(false);
  });

  test('a document says what each version changed, and whether a backup holds it as it is now', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const document = shop.documents.doc('bookings/story');
    await document.set({ status: 'new', amount: 1 });
    await shop.backUp('incremental');
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bookings/story`);
    await page.getByText('A backup holds this version.').waitFor();
    await page.getByText('Created with 2 fields').waitFor();
    await document.update({ status: 'paid' });
    await page.reload();
    await page.getByText('No backup holds this version yet.').waitFor();
    await page.getByText('1 changed: status').waitFor();
    await page.getByText(/The other .+ in bookings (is|are) not touched/).waitFor();
  });

  test('an address that names a version shows that one, however old, and no other when it is gone', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    for (const status of ['first', 'second', 'third', 'fourth']) {
      await shop.documents.doc('bookings/old').set({ status });
      await shop.backUp('incremental');
    }
    const to = `/projects/${shop.projectId}/history?document=bookings/old`;
    const known = (await dashboard.app.request('GET', `/api/v1${to}`, shop.as)).body.data as { at: string }[];
    expect(known).toHaveLength(4);
    const isHistory = (url: URL) => url.pathname.endsWith('/history');
    await page.route(isHistory, (route) => route.continue({ url: `${route.request().url()}&limit=1` }));
    const open = (then: string) =>
      page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/bookings/old?then=${encodeURIComponent(then)}`);
    const shown = (status: string) => page.getByRole('row').filter({ hasText: status }).filter({ hasText: 'fourth' });
    await open(`backup ${known[3]?.at}`);
    await shown('first').waitFor();
    // As in a link that was shared before a backup held this version.
    await open(`live ${known[2]?.at}`);
    await shown('second').waitFor();
    await page.keyboard.press('[');
    await page.getByRole('button', { name: 'Show older ones' }).waitFor({ state: 'detached' });
    await page.keyboard.press('[');
    await shown('first').waitFor();
    await open('backup 2020-01-01T00:00:00.000000Z');
    await page.getByRole('heading', { name: 'The version of this address is not known any more' }).waitFor();
    expect(await page.getByRole('link', { name: 'Restore this version…' }).count()).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('of the oldest version, too, it is said what changed, once somebody looks at it', { tags: 'long' }, async () => {
    const { page } = owner;
    for (let n = 1; n <= 13; n++) {
      await shop.documents.doc('bookings/often').set(n === 2 ? { n, onlyThen: true } : { n });
      await shop.backUp('incremental');
    }
    await goInside(page, shop.slug, `/projects/${shop.projectId}/documents/bookings/often`);
    const versions = page.getByRole('listitem').filter({ has: page.locator('button[aria-pressed]') });
    const says = async (place: number, words: string) => {
      await versions.nth(place).scrollIntoViewIfNeeded();
      await versions.nth(place).getByText(words).waitFor();
    };
    await says(0, '1 changed: n');
    await says(10, '1 changed, 1 removed');
    await says(11, '1 changed, 1 added');
    await says(12, 'Created with 1 field');
    // A hidden page reads nothing.
    await page.setViewportSize(phone);
    await page.reload();
    await versions.nth(0).getByText('1 changed: n').waitFor();
    expect(await versions.nth(12).textContent()).toContain('Created ·');
    await says(12, 'Created with 1 field');
    await page.setViewportSize(desktop);
  });

  test('on a phone the button that restores one document and the undo of a restore are in sight at once', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const full = await dashboard.app.request('GET', '/api/v1/backups?type=full&trigger=manual', shop.as);
    const backupId = full.body.data.at(-1).id;
    const made = await dashboard.app.request('POST', '/api/v1/backups/restore', {
      ...shop.as,
      body: { backupId, documentIds: ['bikes/B-0'] },
    });
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${made.body.data.id}`, shop.as);
    // There are more differences than a screen holds.
    const texts = Array.from({ length: 12 }, (_, index) => [`field ${index}`, 'text '.repeat(20)]);
    await shop.documents.doc('bikes/B-0').set(Object.fromEntries(texts));
    await page.setViewportSize(phone);
    const inSight = async (button: Locator) => {
      await button.waitFor();
      const [box, bar] = [await button.boundingBox(), await page.getByRole('navigation').last().boundingBox()];
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    };
    await goInside(page, shop.slug, `/restores/${made.body.data.id}`);
    await inSight(page.getByRole('button', { name: 'Undo…' }));
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&documents=bikes/B-0`);
    const button = page.getByRole('button', { name: 'Restore 1 document' });
    await inSight(button);
    await page.getByText('field 0', { exact: true }).waitFor();
    await inSight(button);
    await page.setViewportSize(desktop);
    expect((await button.boundingBox())?.y).toBeLessThan(desktop.height - 32);
  });

  test('documents inside a backup are ticked by keys and restored together', { tags: 'long' }, async () => {
    const { page } = owner;
    const full = await dashboard.app.request('GET', '/api/v1/backups?type=full&trigger=manual', shop.as);
    await goInside(page, shop.slug, `/backups/${full.body.data.at(-1).id}/browse/bikes`);
    await page.getByRole('link', { name: 'B-0', exact: true }).waitFor();
    for (const key of ['j', 'x', 'j', 'j', 'x']) await page.keyboard.press(key);
    await page.getByRole('link', { name: 'Restore 2 selected…' }).click();
    await page.getByRole('button', { name: 'Restore 2 documents' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'None', exact: true }).click();
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0);
  });

  test('inside a backup every value keeps its type', async () => {
    const { page } = owner;
    const full = await dashboard.app.request('GET', '/api/v1/backups?type=full&trigger=manual', shop.as);
    await goInside(page, shop.slug, `/backups/${full.body.data.at(-1).id}/browse`);
    await page.getByRole('link', { name: /bookings/ }).click();
    await page.getByRole('link', { name: 'BK-204418' }).click();
    await page.getByRole('row', { name: /amount 48.5 double/ }).waitFor();
    await page.getByRole('row', { name: /status "paid" string/ }).waitFor();
    await page.getByRole('row', { name: /at 18 Nov 2025 09:30:00 timestamp/ }).waitFor();
    await page.goBack();
    await page.getByText('Choose a document').waitFor();
  });
});
