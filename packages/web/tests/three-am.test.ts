import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('at three in the morning', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let first: string;
  const read = async (path: string) => (await shop.documents.doc(path).get()).data();
  beforeAll(async () => {
    dashboard = await startDashboard({ PITR_SEGMENT_SECONDS: '1' });
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bookings/BK-204418').set({ status: 'paid' });
    for (const name of ['one', 'two']) await shop.documents.doc(`bikes/${name}`).set({ gear: `${name}, at first` });
    first = await shop.backUp();
    owner = await dashboard.visit(shop.as.token);
    await owner.page.goto(`/o/${shop.slug}`);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  /** Presses Tab again and again, like a person without a mouse. */
  async function tabTo(role: 'button' | 'link', name: RegExp | string) {
    const { page } = owner;
    const wanted = page.getByRole(role, { name });
    await wanted.waitFor();
    for (let presses = 0; presses < 80 && !(await wanted.evaluate((element) => element.matches(':focus'))); presses++)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
  }

  test('the keyboard alone finds a deleted document by its path, shows what will happen, restores it and undoes that', async () => {
    const { page } = owner;
    await shop.documents.doc('bookings/BK-204418').delete();
    await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('bookings/BK-2044');
    await page.getByRole('option', { name: /BK-204418/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /BK-204418/ }).waitFor();
    await page.getByRole('img', { name: /on the line of time/ }).waitFor();
    await page.getByRole('link', { name: 'Restore this version…' }).waitFor();
    await page.keyboard.press('r');
    await page.getByRole('row', { name: /BK-204418 whole document not there created/ }).waitFor();
    await page.getByText('No other document is touched.').waitFor();
    expect(await read('bookings/BK-204418')).toBeUndefined();
    await tabTo('button', 'Restore 1 document');
    await page.getByRole('heading', { name: /^Restored bookings/ }).waitFor();
    expect(await read('bookings/BK-204418')).toEqual({ status: 'paid' });
    await page.getByRole('link', { name: 'bookings/BK-204418' }).waitFor();
    await page.getByText(/^1 document written in /).waitFor();
    await page.getByText('Nothing was left out.').waitFor();
    const seen = page.getByRole('link', { name: 'See the document' });
    expect(await seen.getAttribute('href')).toMatch(/\/documents\/bookings\/BK-204418$/);
    await tabTo('button', 'Undo…');
    await page.getByText('1 document that the restore created goes.').waitFor();
    await tabTo('button', 'Undo the restore');
    await page.getByRole('heading', { name: /^Undone: the restore of bookings/ }).waitFor();
    await expect.poll(() => read('bookings/BK-204418')).toBeUndefined();
  });

  test('after a restore of one document the others are found as before, and one whose collection is gone by its path', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const body = { backupId: first, documentIds: ['bookings/BK-204418'] };
    const restore = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${restore.body.data.id}`, shop.as);
    await goInside(page, shop.slug, '/find?q=bikes');
    await page.getByRole('link', { name: 'bikes/one' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill('bikes/');
    await page.getByRole('option', { name: /bikes\/one/, selected: true }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.waitForURL(/\/restores\/new\?.*document=bikes%2Fone/);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill('danger');
    await page.getByRole('option', { name: 'Danger zone', selected: true }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('combobox', { name: 'Find anything' }).press('Enter');
    await page.waitForURL(/settings\?tab=danger/);
    await goInside(page, shop.slug, '/find?q=trips/T-1');
    await page.getByRole('link', { name: 'Look for trips/T-1 in all backups' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill('trips/T-1');
    await page.getByRole('option', { name: 'Look for trips/T-1 in all backups', selected: true }).waitFor();
    await expect.poll(() => page.getByRole('option', { name: /^Restore/ }).count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/documents/trips/T-1');
  });

  test('an id or a text without its path is looked for in every document, and the palette knows words for deeds', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const type = async (text: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find anything' }).fill(text);
    };
    await type('BK-204418');
    await page.getByRole('option', { name: /^Look for “BK-204418” in / }).click();
    await page.getByRole('link', { name: 'bookings/BK-204418' }).waitFor();
    await goInside(page, shop.slug, '/find?q=at FIRST');
    await page.getByText('With “at FIRST” in the id or in a text').waitFor();
    expect(await page.getByRole('link', { name: /^bikes\// }).count()).toBe(2);
    await goInside(page, shop.slug, '/find?q=nowhere');
    await page.getByText('No document of the newest backup has “nowhere” in its id or in a text.').waitFor();
    await goInside(page, shop.slug, '/find');
    await page.getByRole('link', { name: 'Look inside the newest backup' }).waitFor();
    await goInside(page, shop.slug, `/projects/${shop.projectId}`);
    await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'bikes' }).click();
    await page.getByRole('link', { name: 'bikes/one' }).waitFor();
    await type('bring back');
    await page.getByRole('option', { name: 'New restore…', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/restores/new');
  });

  test('documents picked in two backups come back together, each as it was in its own', async () => {
    const { page } = owner;
    for (const name of ['one', 'two']) await shop.documents.doc(`bikes/${name}`).set({ gear: `${name}, later` });
    const second = await shop.backUp('incremental');
    for (const name of ['one', 'two']) await shop.documents.doc(`bikes/${name}`).set({ gear: 'broken' });
    for (const [backupId, name] of [
      [first, 'one'],
      [second, 'two'],
    ]) {
      await goInside(page, shop.slug, `/backups/${backupId}/browse/bikes`);
      await page.getByRole('checkbox', { name: `Pick for the basket: bikes/${name}` }).check();
    }
    await page.getByRole('button', { name: '2 documents picked' }).click();
    await page.getByRole('button', { name: 'Restore 2 documents…' }).click();
    await page.getByRole('row', { name: /bikes\/one gear "broken"/ }).waitFor();
    await page.getByRole('button', { name: 'Restore 2 documents', exact: true }).click();
    await page.getByRole('heading', { name: /^Restored/ }).waitFor();
    expect(await read('bikes/one')).toEqual({ gear: 'one, at first' });
    expect(await read('bikes/two')).toEqual({ gear: 'two, later' });
    await page.getByRole('link', { name: 'bikes/two' }).waitFor();
    expect(await page.getByRole('button', { name: /documents picked/ }).count()).toBe(0);
  });

  test('a restore under way stands in its phase, counts, and ends in the eighth without being asked', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const started = await dashboard.app.request('POST', '/api/v1/backups/restore', {
      ...shop.as,
      body: { backupId: first },
    });
    await goInside(page, shop.slug, `/restores/${started.body.data.id}`);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Restoring' })
      .and(page.locator('[aria-current=step]'))
      .waitFor();
    release();
    await page.getByRole('heading', { name: /^Restored/ }).waitFor();
    expect(await page.locator('[aria-current=step]').count()).toBe(0);
    shop.firestore.control.clearFaults();
    expect(await read('bikes/two')).toEqual({ gear: 'two, at first' });
  });

  test('a project is put back to a moment between two backups, chosen on the line of time', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/projects/${shop.projectId}/time`);
    await page.getByRole('button', { name: 'Switch it on…' }).click();
    await page.getByLabel('Days to keep').fill('3');
    await page.getByRole('button', { name: 'Switch it on', exact: true }).click();
    await page.getByRole('button', { name: 'Stop capturing…' }).waitFor();
    const window = async () =>
      (await dashboard.app.request('GET', `/api/v1/projects/${shop.projectId}/pitr`, shop.as)).body.data;
    const covered = async (ms: number) => Date.parse((await window()).coveredTo ?? '1970-01-01') > ms;
    await expect.poll(async () => (await window()).status).toBe('running');
    expect((await window()).retentionDays).toBe(3);
    await shop.documents.doc('bikes/one').set({ gear: 'good' });
    const goodAt = Date.now() + 1000;
    await expect.poll(() => covered(goodAt + 1000)).toBe(true);
    await shop.documents.doc('bikes/one').set({ gear: 'lost' });

    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/time?at=${new Date(goodAt).toISOString()}`);
    await page.getByRole('link', { name: 'Find a document as of then' }).click();
    await page.getByText(/It is looked up as of/).waitFor();
    await page.getByLabel('Path').fill('bikes/one');
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByRole('link', { name: 'bikes/one' }).first().click();
    await page.getByRole('row').filter({ hasText: 'gear' }).filter({ hasText: 'good' }).waitFor();
    const way = await page.getByRole('link', { name: 'Restore this version…' }).getAttribute('href');
    expect(new URL(way ?? '', page.url()).searchParams.get('at')).toBe(new Date(goodAt).toISOString());

    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/time?at=${new Date(goodAt).toISOString()}`);
    const slider = page.getByRole('slider', { name: /The moment to go back to/ });
    await slider.focus();
    const before = Number(await slider.getAttribute('aria-valuenow'));
    await page.keyboard.press('Shift+ArrowLeft');
    await expect.poll(async () => Number(await slider.getAttribute('aria-valuenow'))).toBe(before - 60_000);
    await page.keyboard.press('Shift+ArrowRight');
    await page.getByText('Can be reached', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^Restore to/ }).click();
    await page.getByText('Single documents').click();
    const paths = page.getByLabel('Paths of documents, one per line');
    await paths.fill('bikes/one\nbikes');
    await page.getByRole('button', { name: 'Continue', exact: true }).last().click();
    await page.getByText(/^bikes is no path of a document/).waitFor();
    expect(await paths.inputValue()).toBe('bikes/one\nbikes');
    await paths.fill('bikes/one');
    for (let step = 0; step < 3; step++)
      await page.getByRole('button', { name: 'Continue', exact: true }).last().click();
    await page.getByRole('row', { name: /gear "lost" string "good" string/ }).waitFor();
    await page.getByRole('button', { name: 'Restore 1 document', exact: true }).click();
    await page.getByRole('heading', { name: /^Restored/ }).waitFor();
    expect(await read('bikes/one')).toEqual({ gear: 'good' });
  });

  test('a document comes back with everything below it, in one restore', { tags: 'long' }, async () => {
    const { page } = owner;
    const below = ['shops/north', 'shops/north/bays/1', 'shops/north/bays/1/locks/2'];
    for (const path of [...below, 'shops/south/bays/1']) await shop.documents.doc(path).set({ n: 1 });
    const backupId = await shop.backUp();
    for (const path of [...below, 'shops/south/bays/1']) await shop.documents.doc(path).delete();
    await goInside(page, shop.slug, `/restores/new?backupId=${backupId}&document=shops%2Fnorth&step=which`);
    await page.getByLabel(/^And everything below them/).check();
    for (let step = 0; step < 3; step++)
      await page.getByRole('button', { name: 'Continue', exact: true }).last().click();
    await page.getByText('shops/north and everything below').first().waitFor();
    await page.getByRole('button', { name: 'Restore 3 documents', exact: true }).click();
    await page.getByRole('heading', { name: /^Restored shops\/north and everything below/ }).waitFor();
    for (const path of below) expect(await read(path)).toEqual({ n: 1 });
    expect(await read('shops/south/bays/1')).toBeUndefined();
  });

  test('the palette leads from a path to its past, and from a time to that moment', { tags: 'long' }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
    const type = async (text: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find anything' }).fill(text);
    };
    await type('bikes/one');
    await page.getByRole('option', { name: 'See bikes/one of Shop at a point in time' }).click();
    await page.getByRole('link', { name: 'See bikes/one as of then' }).click();
    await page.waitForURL(/\/find\?.*at=/);
    await page.getByRole('link', { name: 'bikes/one' }).first().waitFor();
    await type('2026-01-01 2:46');
    await page.getByRole('option', { name: 'Shop at 1 Jan 2026 02:46:00', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/time\?at=2026-01-01T02%3A46/);
    await page.getByText('No backup is as old as that.').waitFor();
  });

  test('what was captured can be reached after capture was switched off', async () => {
    const { page } = owner;
    await goInside(page, shop.slug, `/projects/${shop.projectId}/time`);
    await page.getByRole('button', { name: 'Stop capturing…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop capturing' }).click();
    await page.getByText(/^Capture is off\. Shop can still be put back/).waitFor();
    await page.getByText('Can be reached', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^Restore to/ }).waitFor();
    await page.getByRole('button', { name: 'Switch it on…' }).waitFor();
  });

  test('the page of time opens with a project whose moments can be reached', async () => {
    const { page } = owner;
    const connection = { type: 'emulator', host: shop.firestore.address };
    const body = { name: 'Newer', sourceProjectId: 'newer', connection };
    const made = await dashboard.app.request('POST', '/api/v1/projects', { ...shop.as, body });
    await page.goto(`/o/${shop.slug}/time`);
    await page.getByText('Can be reached', { exact: true }).waitFor();
    await page.getByRole('slider').last().getByText('now', { exact: true }).waitFor();
    await page.getByLabel('Project').selectOption('Newer');
    await page.getByRole('heading', { name: 'Point-in-time recovery is off' }).waitFor();
    await dashboard.app.request('DELETE', `/api/v1/projects/${made.body.data.id}`, shop.as);
  });

  test('a gap is told, offers its two ends instead of a restore, and either can be reached', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const path = `/api/v1/projects/${shop.projectId}/pitr`;
    const { coveredFrom } = (await dashboard.app.request('GET', path, shop.as)).body.data;
    const [from, through] = [2000, 6000].map((ms) => new Date(Date.parse(coveredFrom) + ms).toISOString());
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query('update pitr_segments set gap = $1 where sequence = (select min(sequence) from pitr_segments)', [
        { from, through, reason: 'Nobody listened.' },
      ]),
    );
    const inside = new Date(Date.parse(coveredFrom) + 4000).toISOString();
    await goInside(page, shop.slug, `/projects/${shop.projectId}/time?at=${inside}`);
    await page.getByText('Nobody listened.').waitFor();
    const goBack = page.getByRole('group', { name: 'Go back to' });
    expect(await page.getByRole('link', { name: /^Restore to/ }).count()).toBe(0);
    expect(await goBack.getByRole('button').count()).toBe(2);
    await goBack.getByText('Last backup before it:').getByRole('link').waitFor();
    await goBack.getByRole('button').first().click();
    await page.getByText('Can be reached', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('at')).toBe(from);
  });

  test('a collection that is asked for by its name alone is found below its documents', { tags: 'long' }, async () => {
    const { page } = owner;
    await shop.documents.doc('bikes/one/repairs/R-1').set({ cost: 40 });
    await shop.backUp();
    await goInside(page, shop.slug, '/find?q=repairs/');
    await page.getByText('It is below documents.').getByRole('link', { name: 'bikes/*/repairs' }).click();
    await page.waitForURL('**/browse/bikes');
    await goInside(page, shop.slug, '/find?q=nothing/');
    await page.getByText('The newest backup has no collection of this path.').waitFor();
  });
});
