// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { addMember, foundOrganization } from '../../server/testing/team.ts';
import { hasChromium } from '../testing/browser.ts';
import { type EveryPage, goInside, openEveryPage } from '../testing/every-page.ts';

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
      const look = async () => {
        await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
        for (const alert of await page.getByRole('alert').allInnerTexts()) found.push(`${path}: ${alert}`);
      };
      path = '/nothing';
      await page.goto(`/o/${shop.slug}${path}`);
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await look();
      for (path of paths.filter((other) => other !== '/nothing')) {
        await goInside(page, shop.slug, path);
        await look();
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
        await goInside(page, shop.slug, path);
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
      // A link to an action this role may not do says so.
      const hooks = (await dashboard.app.request('GET', '/api/v1/webhooks', shop.as)).body.data;
      for (const path of ['/projects?new=1', '/backups?new=1', '/storage?new=1', '/webhooks?new=1', '/team?new=1']) {
        await goInside(page, shop.slug, path);
        const told = isOwner ? page.getByRole('dialog') : page.getByText('The link leads to something that');
        await expect.poll(() => told.count(), { message: `${role} ${path}` }).toBe(1);
      }
      await goInside(page, shop.slug, `/webhooks/${hooks[0].id}?tab=settings`);
      const told = page.getByText('The link leads to something that');
      await expect.poll(() => told.count(), { message: `${role} settings` }).toBe(isOwner ? 0 : 1);
      await open('/settings?tab=key');
      expect(await page.getByText('The API key is for admins and the owner.').count(), role).toBe(isOwner ? 0 : 1);
    }
  });

  test('who may only look sees a restore run, is offered neither its end nor its undo, and reads of neither', async () => {
    const { dashboard, shop } = all;
    const { data } = (await dashboard.app.request('GET', '/api/v1/backups?type=full', shop.as)).body;
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    shop.firestore.control.addFault({ method: 'BatchWrite', until });
    const body = { backupId: data[0].id, collections: ['bikes'] };
    const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
    for (const role of ['viewer', 'member'] as const) {
      const { page } = await dashboard.visit((await addMember(dashboard.app, shop.organizationId, role)).token);
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() === 403) refused.push(response.url());
      });
      await page.goto(`/o/${shop.slug}/restores/${made.body.data.id}`);
      const mayAct = role === 'member';
      await page.getByRole('heading', { name: mayAct ? 'You can undo this' : 'This can be undone' }).waitFor();
      expect(await page.getByRole('button', { name: /^Stop/ }).count(), role).toBe(mayAct ? 2 : 0);
      expect(refused).toEqual([]);
    }
    release();
    shop.firestore.control.clearFaults();
    await untilEnded(dashboard.app, `/api/v1/backups/restore/${made.body.data.id}`, shop.as);
  });

  test('who may only look is asked for nothing by an empty organization, and reads who fills it', async () => {
    const { app, visit } = all.dashboard;
    const organization = await foundOrganization(app);
    const { page } = await visit((await addMember(app, organization.id, 'viewer')).token);
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    const told = {
      '': 'Members, admins and the owner connect projects.',
      '/projects': 'Members, admins and the owner set that up.',
      '/backups': 'Members, admins and the owner set that up.',
      '/schedules': 'Members, admins and the owner set that up.',
      '/storage': 'Admins and the owner set that up.',
      '/webhooks': 'Admins and the owner set that up.',
      '/restores': 'Members, admins and the owner restore.',
      '/restores?tab=drills': 'No drill has run yet',
      '/settings?tab=notifications': 'Owner and admins',
    };
    for (const [path, sentence] of Object.entries(told)) {
      await goInside(page, organization.slug, path);
      await page.getByRole('main').getByText(sentence).waitFor();
      const offers = page
        .getByRole('main')
        .locator('a, button')
        .filter({ hasText: /connect|add|choose|begin|invite/i });
      expect(await offers.allInnerTexts(), path).toEqual([]);
    }
    expect(refused).toEqual([]);
  });
});
