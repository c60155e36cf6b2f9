import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { addMember } from '../../server/testing/team.ts';
import { hasChromium } from '../testing/browser.ts';
import { type EveryPage, openEveryPage } from '../testing/every-page.ts';

describe.skipIf(!hasChromium)('whatever the role', () => {
  let all: EveryPage;
  beforeAll(async () => {
    all = await openEveryPage();
  });
  afterAll(() => all.close());

  test.each(['viewer', 'member', 'admin'] as const)(
    'every page can be opened by the %s: nothing is asked for that is refused, and nothing fails',
    { timeout: 240_000 },
    async (role) => {
      const { dashboard, shop, paths } = all;
      const person = await addMember(dashboard.app, shop.organizationId, role);
      const { page } = await dashboard.visit(person.token);
      const found: string[] = [];
      let path = '';
      page.on('response', (response) => {
        if (response.status() === 403) found.push(`${path}: refused ${response.request().method()} ${response.url()}`);
      });
      for (path of paths) {
        await page.goto(`/o/${shop.slug}${path}`);
        await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
        await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
        for (const alert of await page.getByRole('alert').allInnerTexts()) found.push(`${path}: ${alert}`);
      }
      expect(found).toEqual([]);
    },
  );

  test('who may only look is offered no undo and no first steps, and is told for whom a part of the settings is', async () => {
    const { dashboard, shop } = all;
    const { data } = (await dashboard.app.request('GET', '/api/v1/backups?type=full', shop.as)).body;
    const body = { backupId: data[0].id, collections: ['bikes'] };
    const restore = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${restore.body.data.id}`, shop.as);
    const tokens = {
      owner: shop.as.token,
      viewer: (await addMember(dashboard.app, shop.organizationId, 'viewer')).token,
    };
    for (const [role, token] of Object.entries(tokens)) {
      const { page } = await dashboard.visit(token);
      const isOwner = role === 'owner';
      const open = async (path: string) => {
        await page.goto(`/o/${shop.slug}${path}`);
        await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
        await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      };
      await open('/backups');
      await page.getByRole('cell', { name: /^Before a restore/ }).waitFor();
      await expect
        .poll(() => page.getByRole('link', { name: 'Undo it…' }).count(), { message: role })
        .toBe(isOwner ? 1 : 0);
      await open('/start');
      const begins = isOwner ? 'Just looking?' : 'Your role reads, and changes nothing';
      await page.getByRole('heading', { name: begins }).waitFor();
      for (const tab of ['plan', 'danger']) {
        await open(`/settings?tab=${tab}`);
        const sentence = page.getByText('That part of the settings is for the owner.');
        await expect.poll(() => sentence.count(), { message: role }).toBe(isOwner ? 0 : 1);
      }
      await open('/settings?tab=key');
      expect(await page.getByText('The API key is for admins and the owner.').count(), role).toBe(isOwner ? 0 : 1);
    }
  });
});
