import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addMember } from '../../server/testing/team.ts';
import { findings } from '../testing/accessibility.ts';
import { hasChromium, startDashboard, type TestDashboard, type Visitor } from '../testing/browser.ts';
import { goInside } from '../testing/every-page.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('an organization', () => {
  let dashboard: TestDashboard;
  let shop: Shop;
  let owner: Visitor;
  const get = async (path: string) => (await dashboard.app.request('GET', `/api/v1${path}`, shop.as)).body.data;
  beforeAll(async () => {
    dashboard = await startDashboard({ ACCESS_TOKEN_TTL: '86400' });
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
    owner = await dashboard.visit(shop.as.token);
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
  });

  test('has a schedule made of words, and it fires', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/schedules/new`);
    await page.getByRole('combobox', { name: 'How often' }).selectOption('hours 1');
    for (const rule of ['Daily', 'Weekly', 'Monthly']) await page.getByLabel(`${rule} backups kept`).fill('0');
    await page.getByText('With none of these, all are kept until they are deleted.').waitFor();
    await page.getByLabel('Newest backups kept').fill('36');
    await page.getByText(/^36 backups on /).waitFor();
    await page.getByRole('button', { name: 'Save schedule' }).click();
    await page.waitForURL('**/schedules/sch_*');
    const [schedule] = await get('/schedules');
    expect(schedule).toMatchObject({ cron: '0 * * * *', timezone: 'UTC', enabled: true });
    expect(schedule.retentionPolicy).toEqual({ last: 36, daily: 0, weekly: 0, monthly: 0, yearly: 0 });
    const { clock } = dashboard.app;
    clock.advance(Date.parse(schedule.nextRunAt) - clock.now().getTime() + 1000);
    await expect.poll(async () => (await get(`/backups?scheduleId=${schedule.id}`))[0]?.status).toBe('completed');
    await page.getByRole('link', { name: 'Backups', exact: true }).click();
    await page
      .getByRole('row', { name: /Completed Full .* Nightly/ })
      .first()
      .waitFor();
  });

  test('is told what a schedule costs by all its runs of a year, however close the next ones lie', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/schedules/new`);
    const { full } = await get(`/projects/${shop.projectId}/cost-estimate`);
    await page.getByLabel('Full backups').selectOption('1');
    const reads = page.locator('[data-monthly-reads]');
    const costs = async (cron: string) => {
      await page.getByLabel('As cron').fill(cron);
      const preview = await dashboard.app.request('POST', '/api/v1/schedules/preview', { ...shop.as, body: { cron } });
      const { runsPerYear } = preview.body.data;
      const expected = String(Math.round((full.reads * runsPerYear) / 12));
      await expect.poll(() => reads.getAttribute('data-monthly-reads')).toBe(expected);
    };
    await page.getByLabel('As cron').fill('99 2 * * *');
    await page.getByRole('button', { name: 'Save schedule' }).click();
    const fault = page.getByText(/^Minute must/);
    await expect.poll(() => page.getByLabel('As cron').getAttribute('aria-invalid')).toBe('true');
    await costs('0 9-15 * * 1');
    await expect.poll(() => fault.count()).toBe(0);
    await costs('0 2 * * *');
    await costs('0 3 1 * *');
  });

  test('runs a drill, and an auditor takes its signed report along', { tags: 'long' }, async () => {
    const { page } = owner;
    const [backup] = await get('/backups');
    await page.goto(`/o/${shop.slug}/backups/${backup.id}`);
    await page.getByRole('button', { name: 'Run a drill' }).click();
    await page.getByText('Every document came back equal').waitFor();
    await page.goto(`/o/${shop.slug}/restores?tab=drills`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Signed report' }).click(),
    ]);
    const [drill] = await get('/drills');
    expect(await readFile(await download.path(), 'utf8')).toBe(drill.signedReport);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('heading', { name: /^Yes, proven/ }).waitFor();
  });

  test('chooses who is told by mail, and of what', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings?tab=notifications`);
    await page.getByText('These addresses').click();
    const addresses = page.getByLabel('E-mail addresses');
    await addresses.fill('ops@example.com\nboss');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^boss: Must be an e-mail address/).waitFor();
    expect(await addresses.getAttribute('aria-invalid')).toBe('true');
    await addresses.fill('ops@example.com\nboss@example.com');
    await page.getByRole('checkbox', { name: 'A run that was missed' }).uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await get('/organizations/current')).settings.notifications)
      .toEqual({
        emails: ['ops@example.com', 'boss@example.com'],
        events: ['backup.failed', 'backup.anomaly', 'pitr.stopped', 'storage.error'],
      });
  });

  test('that has nothing yet names the next step on every page', { tags: 'long' }, async () => {
    const { page } = owner;
    const made = await dashboard.app.request('POST', '/api/v1/organizations', {
      token: shop.as.token,
      body: { name: 'Empty' },
    });
    const { slug } = made.body.data;
    const steps = {
      projects: 'Connect a project',
      backups: 'Connect a project',
      find: 'Connect a project',
      time: 'Connect a project',
      'schedules/new': 'Connect a project',
      'restores/new': 'Connect a project',
      schedules: 'Add a schedule',
      storage: 'Add storage',
      webhooks: 'Add a webhook',
      restores: 'Find a document',
      'restores?tab=drills': 'Choose a backup',
    };
    await page.goto(`/o/${slug}/projects`);
    for (const [path, step] of Object.entries(steps)) {
      await goInside(page, slug, `/${path}`);
      await page.locator('main h2').first().waitFor();
      await page.locator('main').locator('a, button').filter({ hasText: step }).last().waitFor();
      expect(await findings(page), path).toEqual([]);
    }
    await page.goto(`/o/${slug}`);
    await page.waitForURL(`**/o/${slug}/start`);
  });

  test('stays in sight at an address that does not exist, and finds one that names no organization', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/backups`);
    await page.getByRole('heading', { name: 'Backups', level: 1 }).waitFor();
    for (const path of ['/nothing/at/all', `/o/${shop.slug}/nothing`]) {
      await page.goto(path);
      await page
        .getByRole('heading', { name: 'There is nothing at this address' })
        .first()
        .waitFor({ state: 'attached' });
      await page.getByRole('navigation').getByRole('link', { name: 'Backups' }).first().waitFor();
      expect(await findings(page), path).toEqual([]);
    }
    await page.goto('/storage?new=1');
    await page.waitForURL(`**/o/${shop.slug}/storage?new=1`);
  });

  test('is told by the service what became of its keys in a storage that is removed', { tags: 'long' }, async () => {
    const { page } = owner;
    const made = await dashboard.app.request('POST', '/api/v1/storage-destinations', {
      ...shop.as,
      body: { name: 'Spare', type: 'local', path: 'spare' },
    });
    await page.goto(`/o/${shop.slug}/storage/${made.body.data.id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.waitForURL('**/storage');
    await page.getByText("The copies of the organization's keys in it are removed too").waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Spare' }).count()).toBe(0);
    expect(await findings(page)).toEqual([]);
  });

  test('is led to another place for its backups before a storage goes, and names what goes with a project', {
    tags: 'long',
  }, async () => {
    const { page } = owner;
    const [{ id, name }] = (await get('/storage-destinations')).filter(
      ({ usage }: { usage: { backups: number } }) => usage.backups > 0,
    );
    await page.goto(`/o/${shop.slug}/storage/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Remove ${name}?` });
    await dialog.getByText(/backups? lies? in it/).waitFor();
    expect(await dialog.getByRole('button', { name: 'Remove', exact: true }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Move everything elsewhere…' }).click();
    await page.getByRole('dialog', { name: 'Move everything elsewhere…' }).waitFor();

    const { backupCount } = (await get(`/projects/${shop.projectId}`)).statistics;
    await page.goto(`/o/${shop.slug}/projects/${shop.projectId}`);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    const asked = page.getByRole('dialog');
    await asked.getByRole('checkbox', { name: /^Delete its/ }).check();
    const words = `Disconnect and delete ${backupCount} backup${backupCount === 1 ? '' : 's'}`;
    const button = asked.getByRole('button', { name: words, exact: true });
    expect(await button.isDisabled()).toBe(true);
    await asked.getByRole('textbox').fill('shop');
    expect(await button.isEnabled()).toBe(true);
  });

  test('is asked for a new recovery kit after a new key, and its passphrase twice', { tags: 'long' }, async () => {
    const { page } = owner;
    const missing = page.getByText('The current key is in no recovery kit yet.');
    const takeIt = async () => {
      const [kit] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download the kit' }).click(),
      ]);
      await missing.waitFor({ state: 'detached' });
      const text = await readFile(await kit.path(), 'utf8');
      return text.split('\n').filter((line) => line.startsWith('key '));
    };
    await page.goto(`/o/${shop.slug}/settings?tab=encryption`);
    const former = await takeIt();
    const question = page.getByRole('dialog', { name: 'Rotate the key?' });
    const { version } = await get('/organizations/current/encryption-key');
    await page.getByRole('button', { name: 'Rotate' }).click();
    await question.getByText('A recovery kit that was taken before no longer opens the backups').waitFor();
    expect(await findings(page)).toEqual([]);
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect((await get('/organizations/current/encryption-key')).version).toBe(version);
    await page.getByRole('button', { name: 'Rotate' }).click();
    await question.getByRole('button', { name: 'Rotate' }).click();
    await missing.waitFor();
    const keys = await takeIt();
    expect(keys).toHaveLength(former.length + 1);
    expect(keys).toEqual(expect.arrayContaining(former));
    await page.getByLabel('Passphrase', { exact: true }).fill('correct horse battery');
    await page.getByLabel('Passphrase again').fill('correct horse batterx');
    await page.getByText('These are not the same.').waitFor();
    expect(await page.getByRole('button', { name: 'Use this key' }).isDisabled()).toBe(true);
    await page.getByLabel('Passphrase again').fill('correct horse battery');
    expect(await page.getByRole('button', { name: 'Use this key' }).isDisabled()).toBe(false);
  });

  test('shows the key of its service account once, and that key works', async () => {
    const { page } = owner;
    await page.goto(`/o/${shop.slug}/settings?tab=key`);
    await page.getByLabel('Name', { exact: true }).fill('Nightly script');
    await page.getByRole('button', { name: 'Create API key' }).click();
    const key = (await page.locator('[data-secret]').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('heading', { name: 'Nightly script' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Nightly script' }).waitFor();
    expect(await page.content()).not.toContain(key);
    const answer = await fetch(`${dashboard.app.address}/api/v1/backups`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    expect(await page.getByRole('link', { name: 'API key' }).getAttribute('aria-current')).toBe('page');
    expect(await page.getByRole('link', { name: 'General' }).getAttribute('aria-current')).toBeNull();
  });

  test('lets a member delete a schedule, and says who deletes the backups it made', { tags: 'long' }, async () => {
    const member = await addMember(dashboard.app, shop.organizationId, 'member');
    const body = {
      projectId: shop.projectId,
      name: 'Hourly',
      cron: '0 * * * *',
      retentionPolicy: { last: 3, daily: 7 },
    };
    const made = await dashboard.app.request('POST', '/api/v1/schedules', { ...shop.as, body });
    const path = `/api/v1/schedules/${made.body.data.id}`;
    const { page } = await dashboard.visit(member.token);
    await page.goto(`/o/${shop.slug}/schedules/${made.body.data.id}`);
    await page.getByLabel('Name', { exact: true }).fill('Every hour');
    await page.getByRole('button', { name: 'Save schedule' }).click();
    await page.getByRole('navigation').or(page.locator('header')).getByText('Every hour').first().waitFor();
    const saved = async () => (await dashboard.app.request('GET', path, shop.as)).body.data;
    await expect.poll(saved).toMatchObject({ name: 'Every hour', retentionPolicy: { last: 3, daily: 7 } });

    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const checkbox = page.getByRole('checkbox', { name: /Delete its backups too/ });
    expect(await checkbox.isDisabled()).toBe(true);
    await page.getByText('Only admins and the owner delete backups.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).dblclick();
    await page.waitForURL('**/schedules');
    expect((await dashboard.app.request('GET', path, shop.as)).status).toBe(404);
  });

  test('that was deleted by mistake is brought back by its owner', async () => {
    const { page } = owner;
    const { name } = await get('/organizations/current');
    const backups = await get('/backups');
    await page.goto(`/o/${shop.slug}/settings?tab=danger`);
    await page.getByRole('button', { name: 'Delete organization' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete organization' }).isDisabled()).toBe(true);
    const forGood = dialog.getByRole('checkbox', { name: 'At once and for good: no recovery' });
    await forGood.check();
    await dialog.getByText('nobody can bring it back').waitFor();
    expect(await dialog.getByText('For 30 days').count()).toBe(0);
    expect(await dialog.getByRole('button', { name: 'Delete for good' }).isDisabled()).toBe(true);
    await forGood.uncheck();
    await dialog.getByRole('textbox').fill(name);
    await dialog.getByRole('button', { name: 'Delete organization' }).click();
    await page.waitForURL('**/organizations/new?recover=*');
    expect((await dashboard.app.request('GET', '/api/v1/backups', shop.as)).status).toBe(404);
    await page.getByText('You have just deleted it.').waitFor();
    await page.goto('/organizations/new');
    await page.getByRole('button', { name: /^Recover/ }).click();
    await page.waitForURL(`**/o/${shop.slug}`);
    await page.getByRole('link', { name: 'Shop', exact: true }).waitFor();
    expect(await get('/backups')).toHaveLength(backups.length);
  });
});
