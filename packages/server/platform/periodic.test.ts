import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { PeriodicTasks } from './periodic.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const health = async () => (await app.request('GET', '/health')).body;

test('every periodic task runs when it is told to, twice in a row', async () => {
  for (const name of [...app.tasks.names, ...app.tasks.names]) await app.tasks.runNow(name);
  expect(await health()).toMatchObject({ status: 'healthy', houseKeeping: { status: 'ok', late: [] } });
});

test('a task without success for long makes the service degraded, by its name', async () => {
  const setBack = (name: string, interval: string) =>
    asOwner(app.databaseUrl, (client) =>
      client.query('update periodic_tasks set succeeded_at = now() - $2::interval where name = $1', [name, interval]),
    );
  await setBack('audit retention', '2 hours');
  expect((await health()).status).toBe('healthy');
  await setBack('audit retention', '4 hours');
  expect(await health()).toMatchObject({
    status: 'degraded',
    houseKeeping: { status: 'late', late: ['audit retention'] },
  });
  await app.tasks.runNow('audit retention');
  expect((await health()).status).toBe('healthy');
});

test('a failure is saved and the task goes on', async () => {
  let runs = 0;
  const task = {
    name: 'schedules',
    everyMs: 20,
    everywhere: true,
    run: async () => {
      if (++runs < 3) throw new Error('not today');
    },
  };
  const tasks = new PeriodicTasks([task], app.platform.database, app.platform.log, app.clock);
  await tasks.start();
  await expect.poll(() => runs).toBeGreaterThan(4);
  await tasks.close();
  const { rows } = await asOwner(app.databaseUrl, (client) =>
    client.query(`select error from periodic_tasks where name = 'schedules'`),
  );
  expect(rows).toEqual([{ error: null }]);
});

test('while the clocks disagree, tasks that remove by age do not run, and the others do', {
  timeout: 120_000,
}, async () => {
  app.clock.goWrong(5 * 365 * 86_400_000);
  const standing: string[] = [];
  for (const name of app.tasks.names)
    await app.tasks.runNow(name).catch((error: Error) => {
      expect(error.message).toMatch(/ahead of that of the database\. Nothing is removed for its age/);
      standing.push(name);
    });
  app.clock.goWrong(0);
  expect(standing.toSorted()).toEqual([
    'audit retention',
    'disconnected projects',
    'expire journals',
    'expired sessions and codes',
    'old invitations',
    'old troubles',
    'pitr retention',
    'purge organizations',
    'retention',
    'schedule runs',
    'signing key rotation',
    'usage of the day',
    'webhook retention',
  ]);
});
