import { readFile } from 'node:fs/promises';
import { type FirestoreSandbox, loadSample, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { protectProject } from '../../server/testing/protected-project.ts';
import { foundOrganization } from '../../server/testing/team.ts';
import { desktop, hasChromium, phone, startDashboard, type TestDashboard } from '../testing/browser.ts';

describe.skipIf(!hasChromium)('a fresh installation', () => {
  let dashboard: TestDashboard;
  let firestore: FirestoreSandbox;
  beforeAll(async () => {
    [dashboard, firestore] = [await startDashboard(), await startFirestoreSandbox()];
    loadSample(firestore.control.database({ project: 'shop', database: '(default)' }), { seed: 3, documents: 200 });
  });
  afterAll(async () => {
    await dashboard.close();
    await firestore.stop();
  });

  test('leads from the printed link to the first backup, and the link can be looked at before', async () => {
    const { app } = dashboard;
    const { page } = await dashboard.visit();
    await page.goto(app.signInLink ?? '');
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Three steps to the first backup' }).waitFor();

    await page.getByText('Emulator', { exact: true }).click();
    await page.getByLabel('Address of the emulator').fill(firestore.address);
    await page.getByLabel('Google project id').fill('shop');
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('heading', { name: 'Shop is connected' }).waitFor();

    await page.getByText('A folder', { exact: true }).click();
    await page.getByLabel('Folder', { exact: true }).fill('backups');
    await page.getByRole('button', { name: 'Save and continue' }).click();
    await page.getByRole('heading', { name: /^Backups go to/ }).waitFor();

    await page.getByRole('button', { name: 'Back up now' }).click();
    await page.getByRole('heading', { name: 'Your first backup is whole' }).waitFor();

    const cookies = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const me = await app.request('GET', '/api/v1/auth/me', { headers: { cookie: cookies } });
    const backups = await app.request('GET', '/api/v1/backups', {
      headers: { cookie: cookies },
      organizationId: me.body.data.organizations[0].id,
    });
    expect(backups.body.data).toMatchObject([{ status: 'completed', documentCount: 200 }]);

    const [kit] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the kit' }).click(),
    ]);
    expect(await readFile(await kit.path(), 'utf8')).toContain('holdfast local restore');
    await page.getByRole('heading', { name: 'The recovery kit is taken' }).waitFor();
    const next = page.getByRole('main').locator('.bg-ink');
    await expect.poll(() => next.allTextContents()).toEqual(['Add this schedule']);
    await next.click();
    await page.getByRole('heading', { name: 'Nightly is scheduled' }).waitFor();
    await expect.poll(() => next.allTextContents()).toEqual(['Go to Overview']);

    await page.getByRole('link', { name: 'Go to Overview' }).click();
    await page.getByRole('heading', { name: 'Yes.' }).waitFor();
    await page.getByRole('rowheader', { name: /Shop/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/o/my-organization');
  });

  test('says of a project that refuses us that it does, with the way to mend it and to choose another', async () => {
    const { app } = dashboard;
    const shop = await protectProject(app);
    const as = { token: shop.owner.token, organizationId: shop.organizationId };
    const { slug } = (await app.request('GET', '/api/v1/organizations/current', as)).body.data;
    const body = {
      name: 'Second',
      sourceProjectId: 'second',
      connection: { type: 'emulator', host: firestore.address },
    };
    await app.request('POST', '/api/v1/projects', { ...as, body });
    const newest = (await app.request('GET', '/api/v1/projects', as)).body.data[0];
    expect(newest.name).toBe('Second');
    await asOwner(app.databaseUrl, (client) =>
      client.query(`update projects set connection_status = 'unauthorized', connection_error = $1 where id = $2`, [
        { code: 'SOURCE_AUTH_ERROR', message: 'Refused.', advice: '', retryable: false },
        newest.id,
      ]),
    );
    const { page } = await dashboard.visit(shop.owner.token);
    await page.goto(`/o/${slug}/start`);
    await page.getByRole('heading', { name: 'Second cannot be read' }).waitFor();
    await page.getByRole('link', { name: 'Reconnect Second' }).waitFor();
    await page.setViewportSize(phone);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await page.setViewportSize(desktop);
    expect(await page.getByRole('button', { name: 'Back up now' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Change: Second cannot be read' }).click();
    await page.getByRole('button', { name: 'Shop', exact: true }).click();
    await page.getByRole('heading', { name: 'Shop is connected' }).waitFor();
    await page.getByRole('button', { name: 'Back up now' }).waitFor();
    await shop.close();
  });

  test('has a sample project at one click: connected, stored, backed up and scheduled', async () => {
    const { app } = dashboard;
    const { id, slug, owner } = await foundOrganization(app);
    const as = { token: owner.token, organizationId: id };
    const { page } = await dashboard.visit(owner.token);
    await page.goto(`/o/${slug}/start`);
    await page.getByRole('button', { name: 'Open the sample project' }).click();
    await page.getByRole('heading', { name: 'Your first backup is whole' }).waitFor();
    await page.getByRole('heading', { name: 'Nightly is scheduled' }).waitFor();
    const read = async (path: string) => (await app.request('GET', `/api/v1${path}`, as)).body.data;
    expect(await read('/backups')).toMatchObject([{ status: 'completed', documentCount: 10_000 }]);
    expect(await read('/schedules')).toMatchObject([{ enabled: true, cron: '0 2 * * *' }]);
    expect(await page.getByRole('button', { name: 'Open the sample project' }).count()).toBe(0);
  });
});
