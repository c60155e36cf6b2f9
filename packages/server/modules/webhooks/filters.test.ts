import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization } from '../../testing/people.ts';
import { projectStore } from '../projects/index.ts';
import { startWebhookHouse, type WebhookBench } from './testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

const valid = { name: 'Hook', url: 'https://hooks.example.com/in', events: ['backup.completed'] };
const post = (body: unknown) => house.call('POST', '/webhooks', body);

test('filters by an unknown project or trigger, or by a project of others, are refused', async () => {
  await house.knowProjects(['prj_known']);
  const { id } = (await post(valid)).body.data;
  const elsewhere = await foundOrganization(house.app, house.owner);
  await house.knowProjects(['prj_foreign'], elsewhere);
  for (const [field, value, invalidValues] of [
    ['projects', ['prj_known', 'nonsense'], ['nonsense']],
    ['projects', ['prj_foreign'], ['prj_foreign']],
    ['trigger', ['manual', 'bogus'], ['bogus']],
    ['excludeTrigger', ['bogus'], ['bogus']],
  ] as const) {
    const filters = { [field]: value };
    const details = { field: `filters.${field}`, invalidValues };
    for (const answer of [await house.call('PATCH', `/webhooks/${id}`, { filters }), await post({ ...valid, filters })])
      expect([answer.status, answer.body.error], answer.text).toMatchObject([
        400,
        { code: 'VALIDATION_ERROR', details },
      ]);
  }
  const good = { projects: ['prj_known'], trigger: ['pre_restore', 'pitr'] };
  expect((await house.call('PATCH', `/webhooks/${id}`, { filters: good })).body.data.filters).toEqual(good);
  await house.app.platform.database.tenant(house.organizationId, async (transaction) => {
    const row = await projectStore.get(transaction, house.organizationId, 'prj_known');
    await projectStore.update(transaction, row, { deletedAt: house.app.clock.now() });
  });
  const kept = { projects: ['prj_known'], trigger: ['api'] };
  expect((await house.call('PATCH', `/webhooks/${id}`, { filters: kept })).status).toBe(200);
});
