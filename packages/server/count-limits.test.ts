// @module-tag long
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from './testing/backup-bench.ts';
import { asOwner, foundOrganization } from './testing/people.ts';
import { untilEnded } from './testing/protected-project.ts';

const limits = {
  PROJECTS_PER_ORGANIZATION_MAX: '3',
  STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX: '3',
  SCHEDULES_PER_ORGANIZATION_MAX: '3',
};
type As = BackupBench['as'];

let bench: BackupBench;
/** The organization of the bench, with one project and one destination. */
let here: As;

beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, ...limits });
  here = bench.as;
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const call = (as: As, method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...as, ...(body ? { body } : {}) });
const connect = (as: As, sourceProjectId: string) =>
  call(as, 'POST', '/projects', {
    name: sourceProjectId,
    sourceProjectId,
    connection: { type: 'emulator', host: bench.sandbox.address },
  });
const addFolder = (as: As, name: string) =>
  call(as, 'POST', '/storage-destinations', { name, type: 'local', path: `storage/${as.organizationId}/${name}` });
const addSchedule = (as: As, projectId: string) =>
  call(as, 'POST', '/schedules', { projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false });
const newOrganization = async (): Promise<As> => ({
  token: here.token,
  organizationId: await foundOrganization(bench.app, bench.shop.owner),
});
const idOf = async (answer: ReturnType<typeof call>): Promise<string> => {
  const { status, text, body } = await answer;
  expect(status, text).toBe(201);
  return body.data.id;
};
const many = <T>(one: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: 8 }, (_, index) => one(index)));

test('an organization has as many projects, destinations and schedules as its operator allows, also with concurrent requests', async () => {
  const as = await newOrganization();
  const projectId = await idOf(connect(as, 'first'));
  const made = {
    '/projects': await many((index) => connect(as, `project-${index}`)),
    '/storage-destinations': await many((index) => addFolder(as, `folder-${index}`)),
    '/schedules': await many(() => addSchedule(as, projectId)),
  };
  for (const [path, answers] of Object.entries(made)) {
    expect((await call(as, 'GET', path)).body.data, path).toHaveLength(3);
    for (const { body } of answers.filter(({ status }) => status !== 201))
      expect(body.error).toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 3 } });
    const id = answers.find(({ status }) => status === 201)?.body.data.id;
    expect((await call(as, 'DELETE', `${path}/${id}`)).status).toBe(200);
  }
  await idOf(connect(as, 'another'));
  await idOf(addFolder(as, 'another'));
  await idOf(addSchedule(as, projectId));
});

test('a project is not moved to an organization without room for it, its destinations or its schedules', async () => {
  await bench.backUp();
  await idOf(addSchedule(here, bench.shop.projectId));
  const move = (to: As) =>
    call(here, 'PATCH', `/projects/${bench.shop.projectId}`, { organizationId: to.organizationId });
  const full = async (fill: (as: As, index: number) => Promise<unknown>) => {
    const as = await newOrganization();
    for (let index = 0; index < 3; index += 1) await fill(as, index);
    return as;
  };
  const crowded = [
    ['projects', await full((as, index) => idOf(connect(as, `project-${index}`)))],
    ['storage destinations', await full((as, index) => idOf(addFolder(as, `folder-${index}`)))],
    [
      'schedules',
      await full(async (as) => {
        const known = (await call(as, 'GET', '/projects')).body.data[0]?.id;
        await idOf(addSchedule(as, known ?? (await idOf(connect(as, 'first')))));
      }),
    ],
  ] as const;
  for (const [what, there] of crowded) {
    const { body } = await move(there);
    expect(body.error).toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 3 } });
    expect(body.error.message).toBe(`The other organization has 3 ${what}; more are not allowed here.`);
    expect((await call(here, 'GET', `/projects/${bench.shop.projectId}`)).status).toBe(200);
    expect(existsSync(join(bench.app.folder, 'storage', there.organizationId, 'moved')), what).toBe(false);
  }
  const [, there] = crowded[1];
  const destinations = (await call(there, 'GET', '/storage-destinations')).body.data;
  expect((await call(there, 'DELETE', `/storage-destinations/${destinations[0].id}`)).status).toBe(200);
  const moved = await move(there);
  expect(moved.status, moved.text).toBe(200);
  const { token, organizationId } = here;
  const back = { token, organizationId: there.organizationId };
  expect((await call(back, 'PATCH', `/projects/${bench.shop.projectId}`, { organizationId })).status).toBe(200);
});

const rescan = async (destinationId: string) => {
  const begun = await call(here, 'POST', `/storage-destinations/${destinationId}/rescan`);
  return untilEnded(bench.app, begun.headers.get('location') as string, here);
};
const loseCatalogue = () =>
  asOwner(bench.app.databaseUrl, async (client) => {
    await client.query('delete from backups');
    await client.query('delete from projects');
  });

test('a rescan that finds too many projects says which backups it left out', async () => {
  const backupId = await bench.backUp();
  await loseCatalogue();
  const others = [];
  for (const name of ['one', 'two', 'three']) others.push(await idOf(connect(here, name)));
  const { status, result } = await rescan(bench.shop.destinationId);
  const reason = 'The organization has 3 projects; more are not allowed here.';
  expect([status, result.registered]).toEqual(['completed', 0]);
  expect(result.failures).toContainEqual({ key: `backups/${backupId}/manifest`, reason });
  expect((await call(here, 'DELETE', `/projects/${others[0]}`)).status).toBe(200);
  expect((await rescan(bench.shop.destinationId)).result.failures).toEqual([]);
  expect((await call(here, 'GET', `/backups/${backupId}`)).status).toBe(200);
});
