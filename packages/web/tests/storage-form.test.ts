// @module-tag long
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization } from '../../server/testing/team.ts';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';

describe.skipIf(!hasChromium)('a storage that is being added', () => {
  let dashboard: TestDashboard;
  let s3: S3Sandbox;
  beforeAll(async () => {
    s3 = await startS3Sandbox({ buckets: ['first', 'second'] });
    dashboard = await startDashboard({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', STORAGE_RETRY_ATTEMPTS: '2' });
  });
  afterAll(async () => {
    await dashboard.close();
    await s3.stop();
  });

  test('a wrong secret is told at the secret; once it is mended the buckets are listed, and one destination is left', async () => {
    const { app } = dashboard;
    const { id, slug, owner } = await foundOrganization(app);
    const { page } = await dashboard.visit(owner.token);
    await page.goto(`/o/${slug}/storage?new=1`);
    const dialog = page.getByRole('dialog');
    const secret = dialog.getByLabel('Secret access key');
    await dialog.getByText('More settings').click();
    await dialog.getByLabel('Endpoint').fill(s3.endpoint);
    await dialog.getByLabel('Address buckets by path').check();
    await dialog.getByLabel('Access key ID').fill(sandboxS3Credential.accessKeyId);
    await secret.fill('wrong');
    await secret.blur();
    await dialog.getByText('this is not the secret of the key').waitFor();
    expect(await dialog.getByText('may not list buckets').count()).toBe(0);

    await dialog.getByLabel('Bucket', { exact: true }).fill('frist');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    const verdict = dialog.getByText('This place cannot hold backups yet');
    await verdict.waitFor();
    await secret.fill(sandboxS3Credential.secretAccessKey);
    await verdict.waitFor({ state: 'detached' });
    expect(await dialog.getByText('this is not the secret of the key').count()).toBe(0);
    await secret.blur();
    await dialog.getByText('2 buckets visible to this key').waitFor();
    const bucket = dialog.getByLabel('Bucket', { exact: true });
    expect(await bucket.locator('option:checked').textContent()).toBe('frist, not visible to this key');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await verdict.waitFor();
    await bucket.selectOption('first');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.waitFor({ state: 'detached' });
    const kept = await app.request('GET', '/api/v1/storage-destinations', { token: owner.token, organizationId: id });
    expect(kept.body.data).toMatchObject([{ bucket: 'first', status: 'connected' }]);
  });

  test('what was typed and tested for one destination is not there on the page of another', async () => {
    const { app } = dashboard;
    const { id, slug, owner } = await foundOrganization(app);
    const place = { type: 's3', endpoint: s3.endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
    const add = async (bucket: string) => {
      const body = { name: `In ${bucket}`, bucket, ...place };
      const as = { token: owner.token, organizationId: id };
      return (await app.request('POST', '/api/v1/storage-destinations', { ...as, body })).body.data.id as string;
    };
    const [first, second] = [await add('first'), await add('second')];
    const { page } = await dashboard.visit(owner.token);
    const switchTo = async (destinationId: string, name: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find anything' }).fill(destinationId);
      await page.getByRole('option', { name: `Open ${destinationId}` }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
    };
    await page.goto(`/o/${slug}/storage/${second}`);
    await page.getByRole('heading', { name: 'In second', level: 1 }).waitFor();
    await switchTo(first, 'In first');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    // The test that was just started; the page also shows the last test of each destination.
    const tested = page.getByRole('status').filter({ hasText: 'This place can hold backups' });
    await tested.waitFor();
    await page.getByLabel('Secret access key').fill('meant for the first');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill(second);
    await page.getByRole('option', { name: `Open ${second}` }).click();
    await page.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { name: 'In second', level: 1 }).waitFor();
    expect([await page.getByLabel('Secret access key').inputValue(), await tested.count()]).toEqual(['', 0]);
  });

  test('a saved one is renamed without its key, and pointed at another bucket with it', async () => {
    const { app } = dashboard;
    const { id, slug, owner } = await foundOrganization(app);
    const as = { token: owner.token, organizationId: id };
    const place = { type: 's3', endpoint: s3.endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
    const body = { name: 'Vualt', bucket: 'frist', ...place };
    const made = (await app.request('POST', '/api/v1/storage-destinations', { ...as, body })).body.data;
    const { page } = await dashboard.visit(owner.token);
    await page.goto(`/o/${slug}/storage/${made.id}`);
    const save = page.getByRole('button', { name: 'Save' });
    await page.getByLabel('Name', { exact: true }).fill('Vault');
    await save.click();
    await page.getByRole('heading', { name: 'Vault', level: 1 }).waitFor();

    await page.getByLabel('Bucket', { exact: true }).fill('second');
    await page.getByText('Another place asks for the key again.').first().waitFor();
    await save.click();
    const key = page.getByLabel('Access key ID');
    expect(await key.evaluate((field) => field.matches(':invalid:focus'))).toBe(true);
    await key.fill(sandboxS3Credential.accessKeyId);
    await page.getByLabel('Secret access key').fill(sandboxS3Credential.secretAccessKey);
    await page.getByLabel('Secret access key').blur();
    await page.getByText('2 buckets visible to this key').waitFor();
    await save.click();
    await page.getByText('Works').waitFor();
    expect(await page.getByLabel('Secret access key').inputValue()).toBe('');
    const kept = await app.request('GET', `/api/v1/storage-destinations/${made.id}`, as);
    expect(kept.body.data).toMatchObject({ name: 'Vault', bucket: 'second', status: 'connected', isDefault: true });
  });

  test('an installation without a sign-in at Google offers no consent there', async () => {
    const { slug, owner } = await foundOrganization(dashboard.app);
    const { page } = await dashboard.visit(owner.token);
    await page.goto(`/o/${slug}/start`);
    await page.getByText('Emulator', { exact: true }).waitFor();
    expect(await page.getByText('With Google').count()).toBe(0);
  });
});
