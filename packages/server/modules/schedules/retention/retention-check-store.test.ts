import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { retentionCheckStore } from './retention-check-store.ts';

let app: TestApp;
beforeAll(async () => {
  // Nobody takes what is due here.
  app = await startTestApp({ HOLDFAST_ROLES: 'api' });
});
afterAll(() => app.close());

test('the retention of a project gets its turn, however many projects of another organization are due for longer', async () => {
  const [many, single] = [await foundOrganization(app), await foundOrganization(app)];
  const due = new Date('2026-11-19T02:00:00Z');
  const now = new Date('2026-11-19T03:00:00Z');
  const listed = await app.platform.database.system(async (transaction) => {
    for (let index = 0; index < 60; index++)
      await retentionCheckStore.request(transaction, many.id, `prj_${index}`, due);
    await retentionCheckStore.request(transaction, single.id, 'prj_B', now);
    return retentionCheckStore.listDue(transaction, now, 50);
  });
  expect(listed).toHaveLength(50);
  expect(listed).toContainEqual({ organizationId: single.id, projectId: 'prj_B' });
});
