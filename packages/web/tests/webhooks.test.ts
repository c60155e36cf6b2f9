import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner } from '../../server/testing/people.ts';
import { reachesReceiver, startWebhookReceiver, type WebhookReceiver } from '../../server/testing/webhook-receiver.ts';
import { hasChromium, startDashboard, type TestDashboard } from '../testing/browser.ts';
import { openShop, type Shop } from '../testing/shop.ts';

describe.skipIf(!hasChromium)('a webhook', () => {
  let dashboard: TestDashboard;
  let receiver: WebhookReceiver;
  let shop: Shop;
  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    dashboard = await startDashboard(reachesReceiver.environment, reachesReceiver.overrides);
    shop = await openShop(dashboard.app);
    await shop.documents.doc('bikes/one').set({ number: 1 });
  });
  afterAll(async () => {
    await dashboard.close();
    await shop.close();
    await receiver.close();
  });

  test('whose receiver fails says why, and delivers once it is mended', async () => {
    receiver.answer('/hook', (_request, response) => response.writeHead(500).end('{"error":"no such field"}'));
    const { page } = await dashboard.visit(shop.as.token);
    await page.goto(`/o/${shop.slug}/webhooks`);
    await page.getByRole('button', { name: 'Add a webhook' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('On-call');
    await page.getByLabel('Address').fill(`${receiver.address}/hook`);
    await page.getByRole('checkbox', { name: 'backup.*' }).check();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    const secret = await page.locator('[data-secret]').textContent();
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('heading', { name: 'On-call', level: 1 }).waitFor();

    await shop.backUp();
    await receiver.arrivals('/hook', 1);
    // Before one of them is selected.
    await page.getByText('The receiver answers 500 Internal Server Error').waitFor();
    await page.getByRole('link', { name: 'backup.completed' }).click();
    await page.getByText('The receiver answers 500 Internal Server Error').waitFor();
    await page.getByText('no such field').waitFor();

    receiver.answer('/hook', (_request, response) => response.writeHead(200).end('ok'));
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('region', { name: /^dlv_/ }).getByText('Delivered').waitFor();
    const delivered = receiver.to('/hook').filter(({ body }) => body.includes('backup.completed'));
    expect(new Set(delivered.map(({ headers }) => headers['x-service-delivery-id'])).size).toBe(1);
    expect(delivered.length).toBeGreaterThanOrEqual(2);
  });

  test('with a long log shows all of it, page by page', async () => {
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query(
        `insert into webhook_deliveries select (jsonb_populate_record(d, jsonb_build_object(
           'id', substr(d.id, 1, 20) || lpad(n::text, length(d.id) - 20, '0'), 'event_id', 'evt_' || n))).*
         from webhook_deliveries d, generate_series(1, 150) n
         where d.id = (select id from webhook_deliveries where status = 'delivered' limit 1)`,
      ),
    );
    const { page } = await dashboard.visit(shop.as.token);
    const [hook] = (await dashboard.app.request('GET', '/api/v1/webhooks', shop.as)).body.data;
    await page.goto(`/o/${shop.slug}/webhooks/${hook.id}`);
    const table = page.locator('table[aria-label="Deliveries"]');
    await table.waitFor();
    const rows = async () => {
      await page.mouse.wheel(0, 5000);
      return Number(await table.getAttribute('aria-rowcount'));
    };
    await expect.poll(rows).toBeGreaterThan(150);
    await asOwner(dashboard.app.databaseUrl, (client) =>
      client.query(`delete from webhook_deliveries where event_id ~ '^evt_[0-9]{1,3}$'`),
    );
  });

  test('that a 410 disabled says so on top, also after a reload, and is enabled there', { tags: 'long' }, async () => {
    const { page } = await dashboard.visit(shop.as.token);
    receiver.answer('/gone', (_request, response) => response.writeHead(410).end());
    const body = { name: 'Former', url: `${receiver.address}/gone`, events: ['restore.*'] };
    const made = await dashboard.app.request('POST', '/api/v1/webhooks', { ...shop.as, body });
    await page.goto(`/o/${shop.slug}/webhooks/${made.body.data.id}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send a test' });
    await dialog.getByLabel('Event').selectOption('restore.failed');
    await dialog.getByRole('button', { name: 'Send it' }).click();
    await dialog.getByText('The receiver did not take it').waitFor();
    expect(JSON.parse(receiver.to('/gone')[0]?.body ?? '{}').type).toBe('restore.failed');
    await page.reload();
    await page.getByRole('heading', { name: /answered 410 Gone, so this webhook was disabled/ }).waitFor();
    await page.getByRole('row', { name: /restore\.failed Test/ }).waitFor();
    const bar = page.getByRole('navigation', { name: 'Main' }).first();
    await bar.getByRole('link', { name: /^Webhooks 1$/ }).waitFor();
    receiver.answer('/gone', (_request, response) => response.writeHead(200).end());
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByRole('heading', { name: /answered 410/ }).waitFor({ state: 'detached' });
  });

  test('that still tries says, when asked to resend, that it goes on by itself', { tags: 'long' }, async () => {
    const { page } = await dashboard.visit(shop.as.token);
    receiver.answer('/busy', (_request, response) => response.writeHead(500).end());
    const body = { name: 'Busy', url: `${receiver.address}/busy`, events: ['backup.completed'] };
    const made = await dashboard.app.request('POST', '/api/v1/webhooks', { ...shop.as, body });
    await shop.backUp();
    await receiver.arrivals('/busy', 1);
    await page.goto(`/o/${shop.slug}/webhooks/${made.body.data.id}?event=backup.completed`);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('500').waitFor();
    // The left bar uses the same colour as the page.
    const colourOf = (find: string) => page.evaluate(`getComputedStyle(${find}).color`);
    const inBar = `[...document.querySelectorAll('nav a span')].find((one) => one.parentElement.innerText.startsWith('Webhooks'))`;
    await page.getByRole('link', { name: /^Webhooks \d$/ }).waitFor();
    const onPage = `[...document.querySelectorAll('header span')].find((one) => one.innerText === 'Failing')`;
    expect(await colourOf(inBar)).toBe(await colourOf(onPage));
    await page.getByRole('button', { name: 'Resend what failed…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    await page.getByText('1 delivery is still being tried and goes on by itself.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'backup.completed' }).click();
    await page.getByText('Signed with the current secret').waitFor();
    const view = page.getByRole('region', { name: /^dlv_/ });
    await view.getByText(/The next attempt is/).waitFor();
    // A disabled webhook gets no retries: no time is shown, and no action that would be refused.
    await dashboard.app.request('PATCH', `/api/v1/webhooks/${made.body.data.id}/toggle`, {
      ...shop.as,
      body: { enabled: false },
    });
    await view.getByText(/nothing is tried while it is disabled/).waitFor();
    expect(await view.getByText(/The next attempt is/).count()).toBe(0);
    expect(await view.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    await dashboard.app.request('DELETE', `/api/v1/webhooks/${made.body.data.id}`, shop.as);
  });

  test('that was mended sends what failed since a time again, and shows a new secret once', {
    tags: 'long',
  }, async () => {
    const { page } = await dashboard.visit(shop.as.token);
    const webhooks = await dashboard.app.request('GET', '/api/v1/webhooks', shop.as);
    const { id } = webhooks.body.data.find(({ name }: { name: string }) => name === 'On-call');
    await dashboard.app.request('PATCH', `/api/v1/webhooks/${id}`, { ...shop.as, body: { retryEnabled: false } });
    receiver.answer('/hook', (_request, response) => response.writeHead(503).end());
    const before = receiver.to('/hook').length;
    await shop.backUp();
    await receiver.arrivals('/hook', before + 1);
    await page.goto(`/o/${shop.slug}/webhooks/${id}?status=failed`);
    await page.getByRole('link', { name: 'backup.completed' }).waitFor();
    const failed = await page.getByRole('table', { name: 'Deliveries' }).getByRole('link').count();

    receiver.answer('/hook', (_request, response) => response.writeHead(200).end('ok'));
    await page.getByRole('button', { name: 'Resend what failed…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    await page.getByText(`${failed} ${failed === 1 ? 'delivery is' : 'deliveries are'} sent again.`).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('Nothing matches').waitFor();

    await page.goto(`/o/${shop.slug}/webhooks/${id}?tab=secret`);
    await page.getByRole('button', { name: 'New secret' }).click();
    const secret = (await page.locator('[data-secret]').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('button', { name: 'New secret' }).waitFor();
    expect(await page.content()).not.toContain(secret);
  });

  test('tells of a delivery what it is and how it stands, also once the filter leaves it out', {
    tags: 'long',
  }, async () => {
    const { page } = await dashboard.visit(shop.as.token);
    receiver.answer('/again', (_request, response) => response.writeHead(503).end());
    const body = { name: 'Again', url: `${receiver.address}/again`, events: ['backup.completed'], retryEnabled: false };
    const made = await dashboard.app.request('POST', '/api/v1/webhooks', { ...shop.as, body });
    await shop.backUp();
    await receiver.arrivals('/again', 1);
    await page.goto(`/o/${shop.slug}/webhooks/${made.body.data.id}?status=failed`);
    await page.getByRole('link', { name: 'backup.completed' }).click();
    const view = page.getByRole('region', { name: /^dlv_/ });
    await view.getByText('The receiver answers 503 Service Unavailable').waitFor();
    receiver.answer('/again', (_request, response) => response.writeHead(200).end('ok'));
    await view.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Nothing matches').waitFor();
    await view.getByText('Delivered').waitFor();
    await view.getByText('backup.completed', { exact: true }).waitFor();
    expect(await view.getByText('The receiver answers').count()).toBe(0);
    await dashboard.app.request('DELETE', `/api/v1/webhooks/${made.body.data.id}`, shop.as);
  });
});
