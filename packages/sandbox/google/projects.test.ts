import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GoogleSandbox, startGoogleSandbox } from './index.ts';

let sandbox: GoogleSandbox;

beforeEach(async () => {
  const many = Array.from({ length: 7 }, (_, index) => ({ projectId: `project-${index}` }));
  sandbox = await startGoogleSandbox({
    projects: [
      ...many,
      { projectId: 'closed', grants: { 'bob@example.com': 'owner' } },
      {
        projectId: 'shop',
        displayName: 'Shop',
        databases: [
          { databaseId: '(default)', createTime: '2020-01-01T00:00:00Z' },
          { databaseId: 'eu', locationId: 'eur3', pointInTimeRecovery: true, createTime: '2020-01-01T00:00:00Z' },
        ],
      },
    ],
  });
});
afterEach(() => sandbox.stop());

interface Answer {
  results?: { projectId: string }[];
  projects?: { projectId: string; displayName?: string }[];
  databases?: Record<string, string>[];
  nextPageToken?: string;
  error?: { code: number; status: string };
  [field: string]: unknown;
}

async function get(path: string, email = 'ada@example.com'): Promise<Answer> {
  const token = sandbox.control.issueAccessToken(email);
  const response = await fetch(sandbox.url + path, { headers: { authorization: `Bearer ${token}` } });
  return (await response.json()) as Answer;
}

it('pages through exactly the projects the caller can see, in each of the three lists', async () => {
  for (const path of ['/v1beta1/projects', '/v1/projects', '/v3/projects:search']) {
    const seen: string[] = [];
    let token: string | undefined = '';
    while (token !== undefined) {
      const answer = await get(`${path}?pageSize=3&pageToken=${token}`);
      seen.push(...(answer.results ?? answer.projects)!.map((project) => project.projectId));
      token = answer.nextPageToken;
    }
    expect(seen).toHaveLength(8);
    expect(new Set(seen).size).toBe(8);
    expect(seen).not.toContain('closed');
  }
  expect((await get('/v3/projects:search?query=displayName:Shop')).projects).toHaveLength(1);
});

it('a database shows its location, PITR and how far back it can be read', async () => {
  const { databases } = await get('/v1/projects/shop/databases');
  expect(databases).toHaveLength(2);
  const database = (await get('/v1/projects/shop/databases/eu')) as Record<string, string>;
  expect(database).toMatchObject({
    locationId: 'eur3',
    pointInTimeRecoveryEnablement: 'POINT_IN_TIME_RECOVERY_ENABLED',
  });
  const daysBack = (Date.now() - Date.parse(database.earliestVersionTime!)) / 86_400_000;
  expect(Math.round(daysBack)).toBe(7);
});

it('a missing database is not found, a closed project is denied, and no token is unauthenticated', async () => {
  expect((await get('/v1/projects/shop/databases/none')).error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
  expect((await get('/v1/projects/closed/databases')).error).toMatchObject({ code: 403, status: 'PERMISSION_DENIED' });
  expect((await fetch(`${sandbox.url}/v1/projects`)).status).toBe(401);
});

it('faults affect the calls they name, as often as they say, and then end', async () => {
  sandbox.control.setFaults([{ kind: 'throttled', path: '/v1/projects', times: 2 }]);
  expect((await get('/v1beta1/projects')).error).toBeUndefined();
  expect((await get('/v1/projects')).error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' });
  expect((await get('/v1/projects')).error?.code).toBe(429);
  expect((await get('/v1/projects')).error).toBeUndefined();
  sandbox.control.setFaults([
    { kind: 'unavailable', times: 1 },
    { kind: 'latency', latencyMs: 60 },
  ]);
  expect((await get('/v1/projects')).error?.code).toBe(503);
  const startedMs = performance.now();
  await get('/v1/projects');
  expect(performance.now() - startedMs).toBeGreaterThan(55);
});
