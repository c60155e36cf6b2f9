// @module-tag long
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, join, signUp } from '../../server/testing/people.ts';
import { findings } from '../testing/accessibility.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

const others = 205;
const longName = 'The name of somebody who wanted to have one that is as long as a name can be, and then one more word';

/** Texts that overflow their boxes, as `text > width`. */
const clippedOn = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('main *')]
    .filter((element) => {
      const { overflowX, textOverflow } = getComputedStyle(element);
      return overflowX === 'hidden' && textOverflow !== 'ellipsis' && element.clientWidth > 1
        && element.tagName !== 'INPUT' && element.scrollWidth > element.clientWidth + 2;
    })
    .map((element) => element.textContent.slice(0, 60) + ' > ' + element.clientWidth)`);

describe.skipIf(!hasChromium)('with hundreds of projects and names as long as they may be', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  let viewer: Visitor;
  beforeAll(async () => {
    dashboard = await startDashboard();
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    await shop.backUp();
    await dashboard.app.request('POST', '/api/v1/schedules', {
      ...shop.as,
      body: { projectId: shop.projectId, name: longName, cron: '0 2 * * *' },
    });
    // Newer ones, so that a list of the newest leaves out the protected one.
    await asOwner(dashboard.app.databaseUrl, async (client) => {
      await client.query(
        `insert into projects select (jsonb_populate_record(p, jsonb_build_object(
           'id', 'prj_' || lpad(n::text, 26, 'Z'), 'name', 'Project ' || n, 'source_project_id', 'other-' || n,
           'created_at', p.created_at + n * interval '1 second'))).*
         from projects p, generate_series(1, ${others}) n`,
      );
      await client.query('update organizations set name = $1', [longName]);
    });
    const reader = await signUp(dashboard.app, 'somebody.with.a.rather.long.address@subdomain.company.example.com');
    await join(dashboard.app, shop.organizationId, reader, 'viewer');
    await dashboard.app.request('POST', '/api/v1/organizations/current/invites', {
      ...shop.as,
      body: { email: 'another.person.with.a.long.address@subdomain.company.example.com' },
    });
    owner = await dashboard.visit(shop.as.token);
    viewer = await dashboard.visit(reader.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('the overview judges every project, and shows the first of them until somebody asks for all', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}`);
    await page.getByText(`${others} more are backed up by hand.`).waitFor();
    await page.getByRole('rowheader', { name: 'Shop' }).waitFor();
    expect(await page.getByRole('rowheader').count()).toBe(25);
    await page.getByRole('button', { name: `Show all ${others + 1} projects` }).click();
    expect(await page.getByRole('rowheader').count()).toBe(others + 1);
  });

  test('lists name every project, and filters offer each', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('cell', { name: 'Shop', exact: true }).waitFor();
    expect(await page.locator('select[data-filter] option').count()).toBe(others + 2);
  });

  test('one of hundreds is found by a part of its name, which stands in the address', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/projects`);
    const table = page.getByRole('table', { name: 'Projects' });
    await table.waitFor();
    const field = page.getByRole('searchbox', { name: 'Find in this list' });
    await field.fill('project 20');
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('8');
    await field.fill('OTHER-77');
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('2');
    expect(new URL(page.url()).searchParams.get('q')).toBe('OTHER-77');
    await page.reload();
    await page.getByRole('link', { name: 'Project 77' }).waitFor();
    expect(await table.getAttribute('aria-rowcount')).toBe('2');
    await field.fill('nobody is called so');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(others + 2));
    expect(await findings(page)).toEqual([]);
  });

  test('restores are narrowed to the project they come from, and to the one they go into', async () => {
    const { page } = owner;
    const [{ id: backupId }] = (await dashboard.app.request('GET', '/api/v1/backups', shop.as)).body.data;
    const target = `prj_${'7'.padStart(26, 'Z')}`;
    for (const into of [{}, { targetProjectId: target }]) {
      const body = { backupId, options: { dryRun: true }, ...into };
      const made = await dashboard.app.request('POST', '/api/v1/backups/restore', { ...shop.as, body });
      expect(made.status, made.text).toBe(202);
    }
    const table = page.getByRole('table', { name: 'Restores' });
    const countRows = () => table.getAttribute('aria-rowcount');
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByRole('main').getByRole('link', { name: 'Restores' }).click();
    await page.waitForURL(`**/restores?project=${shop.projectId}`);
    await expect.poll(countRows).toBe('3');
    await page.getByRole('button', { name: 'Clear filters: From' }).click();
    await page.getByRole('combobox', { name: 'Into' }).selectOption('Project 7');
    await expect.poll(countRows).toBe('2');
    await table.getByRole('cell', { name: 'Project 7', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe(`?target=${target}`);
    await page.getByRole('combobox', { name: 'From' }).selectOption('Project 7');
    await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
    await expect.poll(countRows).toBe('3');
    expect(await findings(page)).toEqual([]);
    // A restore that wrote nothing is not shown as one that did.
    await page.setViewportSize(phone);
    await page.getByText('Dry run · Project 7').waitFor();
    await page.setViewportSize(desktop);
  });

  test('a document is found by its path in whichever project has it', async () => {
    const { page } = owner;
    const isProjects = (url: URL) => url.pathname.endsWith('/api/v1/projects');
    const box = page.getByRole('combobox', { name: 'Find anything' });
    const found = page.getByRole('option', { name: 'bikes/one', exact: false }).first();
    const type = async (path: string) => {
      await page.goto(`/o/${shop.slug}/team`);
      await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
      await page.keyboard.press('Control+k');
      await box.fill(path);
    };
    await type('bikes/o');
    await page.getByText('Documents in Shop, newest backup').waitFor();
    // A document that is not in the newest backup is searched in the project of its neighbours.
    await page.getByRole('option', { name: 'Look for bikes/o in all backups of Shop' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/projects/${shop.projectId}/documents/bikes/one`);
    // If every project has backups, some are searched at once and the others on request.
    await page.route(isProjects, async (route) => {
      const { data, ...rest } = await (await route.fetch()).json();
      const backedUp = data.map((project: { statistics: object }) => ({
        ...project,
        statistics: { ...project.statistics, backupCount: 1 },
      }));
      await route.fulfill({ json: { ...rest, data: backedUp } });
    });
    await type('bikes/o');
    await page.getByText(`newest backup of 8 of ${others + 1} projects`).waitFor();
    expect(await page.getByText('Documents in Shop, newest backup').count()).toBe(0);
    await page.getByRole('option', { name: `Search the other ${others - 7} projects too` }).click();
    await page.getByText('Documents in Shop, newest backup').waitFor();
    await found.click();
    await page.waitForURL(`**/projects/${shop.projectId}/documents/bikes/one`);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('nothing is cut off on a phone', async () => {
    const { page } = owner;
    await page.setViewportSize(phone);
    for (const path of ['', '/projects', '/backups', '/schedules', '/storage', '/team', '/audit', '/settings']) {
      await goInside(page, shop.slug, path);
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await expect.poll(() => page.locator('main li, main dl').count()).toBeGreaterThan(0);
      expect(await clippedOn(page), path).toEqual([]);
    }
  });

  test('a list that cannot be read says what happened, what to do, and by which id it is found in the log', {
    timeout: 180_000,
  }, async () => {
    const { page, context } = owner;
    await page.setViewportSize(desktop);
    const isList = (url: URL) => /\/api\/v1\/(?!auth|organizations$|organizations\/current$)/.test(url.pathname);
    const error = { code: 'SERVICE_UNAVAILABLE', message: 'It stops.', requestId: 'req_01M7HR8E78YDNWRVSQ7C2XSH14' };
    await context.route(isList, (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify({ success: false, error }) }),
    );
    const lists = ['', 'projects', 'backups', 'schedules', 'storage', 'find', 'time', 'restores', 'webhooks', 'team'];
    // Reloaded, so that no earlier answer is cached.
    await page.goto(`/o/${shop.slug}/nowhere`);
    for (const path of [...lists, 'restores?tab=drills', 'audit', 'schedules/new']) {
      await goInside(page, shop.slug, `/${path}`);
      const alert = page.getByRole('alert').first();
      await alert.getByText(`SERVICE_UNAVAILABLE · ${error.requestId}`).waitFor();
      await alert.getByText('Try again in a moment.').waitFor();
      await alert.getByRole('button', { name: 'Try again' }).waitFor();
      expect(await findings(page), path).toEqual([]);
    }
    await context.unroute(isList);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByRole('button', { name: 'Save schedule' }).waitFor();
  });

  test('a panel whose list cannot be read says so too, and keeps the page around it', async () => {
    const { page, context } = owner;
    const first = async (path: string) =>
      (await dashboard.app.request('GET', `/api/v1/${path}?limit=1`, shop.as)).body.data[0].id as string;
    const error = { code: 'SERVICE_UNAVAILABLE', message: 'It stops.', requestId: 'req_01M7HR8E78YDNWRVSQ7C2XSH15' };
    const isPanel = (url: URL) => /\/(tasks|retention-preview|drills)$/.test(url.pathname);
    await context.route(isPanel, (route) => route.fulfill({ status: 503, json: { success: false, error } }));
    const panels = [
      [`storage/${shop.destinationId}`, 'Work on it'],
      [`schedules/${await first('schedules')}`, 'What is kept, and why'],
      [`backups/${await first('backups')}`, 'Drills'],
    ] as const;
    for (const [path, title] of panels) {
      await page.goto(`/o/${shop.slug}/${path}`);
      const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
      await panel.getByText(`SERVICE_UNAVAILABLE · ${error.requestId}`).waitFor();
      await panel.getByText('Try again in a moment.').waitFor();
      expect(await panel.getByRole('button', { name: 'Try again' }).count()).toBe(1);
      expect(await page.getByRole('alert').count()).toBe(1);
    }
    await context.unroute(isPanel);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('None yet. A drill proves that it comes back.').waitFor();
  });

  test('work on a storage that failed says what it met and what to do', async () => {
    const { page } = owner;
    await dashboard.app.request('POST', `/api/v1/storage-destinations/${shop.destinationId}/rescan`, shop.as);
    const error = { code: 'STORAGE_UNAVAILABLE', message: 'The bucket did not answer.', retryable: true, advice: '' };
    await page.route('**/tasks?*', async (route) => {
      const { data, ...rest } = await (await route.fetch()).json();
      await route.fulfill({ json: { ...rest, data: [{ ...data[0], status: 'failed', error }] } });
    });
    await page.goto(`/o/${shop.slug}/storage/${shop.destinationId}`);
    const task = page.getByRole('listitem').filter({ hasText: 'STORAGE_UNAVAILABLE' });
    await task.getByText('The storage could not be reached.').waitFor();
    await task.getByText('The bucket did not answer.').waitFor();
    await task.getByText('if it stays, test the destination.').waitFor();
    expect(await findings(page)).toEqual([]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('who may only read is told so where a form would be, and is shown what is set', async () => {
    const { page } = viewer;
    for (const path of ['/schedules/new', '/restores/new']) {
      await goInside(page, shop.slug, path);
      await page.getByRole('heading', { name: 'Your role reads, and changes nothing' }).waitFor();
      expect(await page.getByRole('button', { name: /Save|Continue|Restore/ }).count()).toBe(0);
    }
    await goInside(page, shop.slug, '/schedules');
    await page.getByRole('link', { name: longName }).click();
    await page.getByText('every day at 02:00, UTC').waitFor();
    await goInside(page, shop.slug, '/settings?tab=danger');
    await page.getByText('Default storage').waitFor();
    expect(await page.getByText('Danger zone').count()).toBe(0);
    await goInside(page, shop.slug, '');
    await page.getByRole('link', { name: 'Find a document' }).last().waitFor();
    expect(await page.getByRole('link', { name: 'Run a drill' }).count()).toBe(0);
  });

  test('a dialog begins at its first field', async () => {
    const { page } = owner;
    await page.setViewportSize({ width: 1440, height: 900 });
    await goInside(page, shop.slug, '/backups?new=1');
    await page.getByRole('dialog').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('SELECT');
  });
});
