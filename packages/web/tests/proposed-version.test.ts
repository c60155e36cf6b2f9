// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

/** The primary button has the colour of ink. */
const primary = /(^| )bg-ink( |$)/;

describe.skipIf(!hasChromium)('the version that a document page proposes', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let good: string;
  const path = 'bikes/one';
  const write = (gear: string) => shop.documents.doc(path).set({ gear });
  beforeAll(async () => {
    dashboard = await startDashboard({ PITR_SEGMENT_SECONDS: '1' });
    shop = await openShop(dashboard.app);
    await write('first');
    await shop.backUp();
    await write('good');
    good = await shop.backUp('incremental');
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  async function call(method: 'POST' | 'GET', to: string, body?: object) {
    const answer = await dashboard.app.request(method, `/api/v1${to}`, { ...shop.as, ...(body ? { body } : {}) });
    return answer.body.data;
  }

  async function restore(from: object): Promise<string> {
    const { id } = await call('POST', '/backups/restore', from);
    const ended = await untilEnded(dashboard.app, `/api/v1/backups/restore/${id}`, shop.as);
    expect(ended.status).toBe('completed');
    return id as string;
  }

  /** The proposed version and the live one. */
  async function proposal(): Promise<string[]> {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}/documents/${path}`);
    await page.getByRole('link', { name: 'Restore this version…' }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'gear' });
    await row.waitFor();
    expect(await page.locator('button[aria-pressed=true]').filter({ hasText: 'Then' }).count()).toBe(1);
    return (await row.textContent())?.match(/"[^"]+"/g)?.map((value) => value.slice(1, -1)) ?? [];
  }

  test('is the newest that differs from what stands there, before and after a restore, an edit and a deletion', async () => {
    await write('broken');
    expect(await proposal()).toEqual(['good', 'broken']);
    await restore({ backupId: good, documentIds: [path] });
    expect(await proposal()).toEqual(['first', 'good']);
    await write('edited');
    expect(await proposal()).toEqual(['good', 'edited']);
    await shop.documents.doc(path).delete();
    expect(await proposal()).toEqual(['good']);
  });

  test('is the one before the accident, though a restore of everything brought that very one back before', async () => {
    await write('newer');
    const backupId = await shop.backUp('incremental');
    // It is already live, and in the safety backup of a restore that does not change it.
    await restore({ backupId });
    await write('worse');
    expect(await proposal()).toEqual(['newer', 'worse']);
  });

  test('is no invitation where it holds what stands there already', async () => {
    const { page } = owner;
    await shop.documents.doc('bikes/only').set({ gear: 'only' });
    const backupId = await shop.backUp('incremental');
    await shop.documents.doc('bikes/only').delete();
    const to = `/o/${shop.slug}/projects/${shop.projectId}/documents/bikes/only`;
    const look = () => page.getByRole('link', { name: 'Restore this version…' }).getAttribute('class');
    await page.goto(to);
    await page.getByText('Restoring brings the document back').waitFor();
    expect(await look()).toMatch(primary);
    await restore({ backupId, documentIds: ['bikes/only'] });
    await page.goto(to);
    await page.getByText('Restoring changes no field').waitFor();
    expect(await look()).not.toMatch(primary);
  });

  test('is the good one after an accident that writes what an older version held', async () => {
    await write('good');
    await shop.backUp('incremental');
    await write('first');
    expect(await proposal()).toEqual(['good', 'first']);
  });

  test('is never among what a restore to a moment has undone, and after its undo what stood there before the accident', async () => {
    await write('good');
    await call('POST', `/projects/${shop.projectId}/pitr/enable`, { retentionDays: 3 });
    const coveredTo = async () =>
      Date.parse((await call('GET', `/projects/${shop.projectId}/pitr`)).coveredTo ?? '1970-01-01');
    await expect.poll(coveredTo).toBeGreaterThan(Date.now() - 60_000);
    await write('fine');
    const fineAt = Date.now() + 1000;
    await expect.poll(coveredTo).toBeGreaterThan(fineAt);
    for (let number = 1; number <= 3; number++) {
      await write(`broken ${number}`);
      const writtenAt = Date.now();
      await expect.poll(coveredTo).toBeGreaterThan(writtenAt);
    }
    expect(await proposal()).toEqual(['broken 2', 'broken 3']);
    const pointInTime = new Date(fineAt).toISOString();
    const id = await restore({ projectId: shop.projectId, pointInTime, collections: ['bikes'] });
    expect(await proposal()).toEqual(['good', 'fine']);
    const undo = await call('POST', `/backups/restore/${id}/undo`);
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${undo.id}`, shop.as);
    expect(await proposal()).toEqual(['broken 2', 'broken 3']);
  });
});
