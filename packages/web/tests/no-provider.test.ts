// @module-tag long
import {
  type FirestoreSandbox,
  type GoogleSandbox,
  startFirestoreSandbox,
  startGoogleSandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization } from '../../server/testing/team.ts';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';

describe.skipIf(!hasChromium)('without an identity provider', () => {
  let dashboard: TestDashboard;
  let google: GoogleSandbox;
  let firestore: FirestoreSandbox;
  beforeAll(async () => {
    google = await startGoogleSandbox({
      projects: [{ projectId: 'acme', databases: [{ databaseId: '(default)' }] }],
    });
    firestore = await startFirestoreSandbox();
    dashboard = await startDashboard({
      GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, firestore: `http://${firestore.address}` }),
    });
  });
  afterAll(async () => {
    await dashboard.close();
    await firestore.stop();
    await google.stop();
  });

  test('the link that was used leads on who is signed in, and an invitation sends nobody to the link of the owner', async () => {
    const { page } = await dashboard.visit();
    const signInLink = dashboard.app.signInLink ?? '';
    await page.goto(signInLink);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/o/my-organization/start');
    await page.goto(signInLink);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'This link has been used, or is too old' }).waitFor();
    await page.getByText('You are signed in already, as owner@holdfast.local.').waitFor();
    await page.getByRole('link', { name: 'Go to Overview' }).click();
    await page.waitForURL('**/o/my-organization/start');

    await page.goto('/o/my-organization/team?new=1');
    await page.getByText('Nobody but the owner can sign in yet').waitFor();
    await page.getByLabel('E-mail address').fill('grace@example.com');
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByText('grace@example.com').waitFor();
    const sent = () => /http\S+invitations\/accept\?token=[\w-]+/.exec(dashboard.app.logged())?.[0];
    await expect.poll(sent).toBeDefined();

    const guest = await dashboard.visit();
    await guest.page.goto(sent() ?? '');
    await guest.page.getByText('Nobody but the owner can sign in yet').waitFor();
    expect(await guest.page.getByText('Open the link the server printed').count()).toBe(0);
  });

  test('a project is connected with a key file, and takes another one before the first is withdrawn', async () => {
    const { slug, owner } = await foundOrganization(dashboard.app);
    const { page } = await dashboard.visit(owner.token);
    const fileOf = (key: object) => ({
      name: 'key.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(key)),
    });
    const [first, second] = [google.control.createServiceAccount('acme'), google.control.createServiceAccount('other')];
    await page.goto(`/o/${slug}/projects?new=1`);
    await page.locator('input[type=file]').setInputFiles(fileOf(first));
    await page.getByText(`${first.client_email} of acme`).waitFor();
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.waitForURL('**/projects/prj_*');
    await page.getByText(first.client_email).waitFor();

    await page.getByText('Use another key').click();
    await page.locator('input[type=file]').setInputFiles(fileOf({ ...second, client_email: 'nobody@acme.iam' }));
    await page.getByRole('button', { name: 'Use this key from now on' }).click();
    await page.getByRole('alert').getByText('Google no longer accepts the connection').waitFor();
    await page.getByText(first.client_email).waitFor();
    await page.locator('input[type=file]').setInputFiles(fileOf(second));
    await page.getByRole('button', { name: 'Use this key from now on' }).click();
    await page.getByRole('status').getByText('This key is used from now on.').waitFor();
    await page.getByText(second.client_email).waitFor();
    // There is no unsaved input any more.
    await page.getByRole('link', { name: 'Backups', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Backups', level: 1 }).waitFor();
  });
});
