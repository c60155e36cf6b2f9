import { type Operation, type OperationId, operations, pathOf, servedOperations } from '@holdfast/contract';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonSchema } from './testing/json-schema.ts';
import { asOwner } from './testing/people.ts';
import { foundOrganization, type TestOrganization } from './testing/team.ts';
import { createOneOfEverything, createProjectWithBackup, resourcesOf } from './testing/tenant-resources.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/** Sends ids of another organization in fields of bodies and queries; the matrix does the same for paths. */

type Ids = Record<string, string>;

interface Attempt {
  operation: OperationId;
  /** The field under test, as the contract spells it. */
  field: string;
  body?: (own: Ids, foreign: Ids) => object;
  query?: (own: Ids, foreign: Ids) => Record<string, string>;
}

const at = '2026-01-01T00:00:00Z';
const attempts: Attempt[] = [
  {
    operation: 'updateOrganization',
    field: 'settings.defaultStorageId',
    body: (_, { storageDestinationId }) => ({ settings: { defaultStorageId: storageDestinationId } }),
  },
  {
    operation: 'updateProject',
    field: 'organizationId',
    body: (_, { organizationId }) => ({ organizationId }),
  },
  {
    operation: 'enablePitr',
    field: 'storageDestinationId',
    body: (_, { storageDestinationId }) => ({ storageDestinationId }),
  },
  {
    operation: 'migrateStorageDestination',
    field: 'toStorageDestinationId',
    body: (_, { storageDestinationId }) => ({ toStorageDestinationId: storageDestinationId }),
  },
  {
    operation: 'createBackup',
    field: 'projectId',
    body: ({ storageDestinationId }, { projectId }) => ({ projectId, type: 'full', storageDestinationId }),
  },
  {
    operation: 'createBackup',
    field: 'storageDestinationId',
    body: ({ projectId }, { storageDestinationId }) => ({ projectId, type: 'full', storageDestinationId }),
  },
  {
    operation: 'createBackup',
    field: 'storageDestinationIds',
    body: ({ projectId, storageDestinationId: own }, { storageDestinationId: foreign }) => ({
      projectId,
      type: 'full',
      storageDestinationIds: [own, foreign],
    }),
  },
  {
    operation: 'importBackup',
    field: 'projectId',
    body: ({ storageDestinationId, backupId }, { projectId }) => imported(projectId, storageDestinationId, backupId),
  },
  {
    operation: 'importBackup',
    field: 'storageDestinationId',
    body: ({ projectId }, { storageDestinationId, backupId }) => imported(projectId, storageDestinationId, backupId),
  },
  { operation: 'listBackups', field: 'projectId', query: (_, { projectId = '' }) => ({ projectId }) },
  { operation: 'listBackups', field: 'scheduleId', query: (_, { scheduleId = '' }) => ({ scheduleId }) },
  {
    operation: 'listBackups',
    field: 'storageDestinationId',
    query: (_, { storageDestinationId = '' }) => ({ storageDestinationId }),
  },
  { operation: 'startDrill', field: 'targetProjectId', body: (_, { projectId }) => ({ targetProjectId: projectId }) },
  { operation: 'diffBackup', field: 'against', query: (_, { backupId = '' }) => ({ against: backupId }) },
  { operation: 'listAllDrills', field: 'projectId', query: (_, { projectId = '' }) => ({ projectId }) },
  { operation: 'listAllDrills', field: 'backupId', query: (_, { backupId = '' }) => ({ backupId }) },
  { operation: 'listRestores', field: 'backupId', query: (_, { backupId = '' }) => ({ backupId }) },
  { operation: 'listRestores', field: 'projectId', query: (_, { projectId = '' }) => ({ projectId }) },
  {
    operation: 'listRestores',
    field: 'targetProjectId',
    query: (_, { projectId = '' }) => ({ targetProjectId: projectId }),
  },
  { operation: 'startRestore', field: 'backupId', body: (_, { backupId }) => ({ backupId }) },
  {
    operation: 'startRestore',
    field: 'projectId',
    body: (_, { projectId }) => ({ projectId, pointInTime: at }),
  },
  {
    operation: 'startRestore',
    field: 'targetProjectId',
    body: ({ backupId }, { projectId }) => ({ backupId, targetProjectId: projectId }),
  },
  {
    operation: 'startRestore',
    field: 'items[].backupId',
    body: ({ backupId: own }, { backupId: foreign }) => ({
      items: [
        { backupId: own, path: 'users/ada' },
        { backupId: foreign, path: 'users/bob' },
      ],
    }),
  },
  {
    operation: 'createSchedule',
    field: 'projectId',
    body: (_, { projectId }) => ({ projectId, name: 'Nightly', cron: '0 2 * * *' }),
  },
  {
    operation: 'createSchedule',
    field: 'storageDestinationId',
    body: ({ projectId }, { storageDestinationId }) => ({
      projectId,
      name: 'Nightly',
      cron: '0 2 * * *',
      storageDestinationId,
    }),
  },
  {
    operation: 'createSchedule',
    field: 'storageDestinationIds',
    body: ({ projectId, storageDestinationId: own }, { storageDestinationId: foreign }) => ({
      projectId,
      name: 'Nightly',
      cron: '0 2 * * *',
      storageDestinationIds: [own, foreign],
    }),
  },
  { operation: 'listSchedules', field: 'projectId', query: (_, { projectId = '' }) => ({ projectId }) },
  {
    operation: 'updateSchedule',
    field: 'storageDestinationId',
    body: (_, { storageDestinationId }) => ({ storageDestinationId }),
  },
  {
    operation: 'updateSchedule',
    field: 'storageDestinationIds',
    body: (_, { storageDestinationId }) => ({ storageDestinationIds: [storageDestinationId] }),
  },
  {
    operation: 'createWebhook',
    field: 'filters.projects',
    body: (_, { projectId }) => ({
      name: 'Hook',
      url: 'https://example.com/hook',
      events: ['*'],
      filters: { projects: [projectId] },
    }),
  },
  {
    operation: 'patchWebhook',
    field: 'filters.projects',
    body: (_, { projectId }) => ({ filters: { projects: [projectId] } }),
  },
  { operation: 'listAuditLogs', field: 'actorId', query: (_, { userId = '' }) => ({ actorId: userId }) },
  { operation: 'listAuditLogs', field: 'resourceId', query: (_, { backupId = '' }) => ({ resourceId: backupId }) },
  {
    operation: 'exportAuditLogs',
    field: 'actorId',
    query: (_, { userId = '' }) => ({ format: 'json', actorId: userId }),
  },
  {
    operation: 'exportAuditLogs',
    field: 'resourceId',
    query: (_, { backupId = '' }) => ({ format: 'json', resourceId: backupId }),
  },
];

function imported(
  projectId: string | undefined,
  storageDestinationId: string | undefined,
  backupId: string | undefined,
) {
  const path = `backups/${backupId}/manifest`;
  return { projectId, storageDestinationId, path, metadata: { source: 'holdfast' } };
}

/** These name something at Google and not here. */
const namesOfTheWorld = new Set(['sourceProjectId', 'databaseId', 'documentIds']);

/** Every field of an operation that may name something of an organization, recognised by its name. */
function referencesOf({ body, query }: Operation): string[] {
  const names = new Set<string>();
  const walk = ({ anyOf = [], oneOf = [], allOf = [], items, properties = {} }: JsonSchema, path: string): void => {
    for (const branch of [...anyOf, ...oneOf, ...allOf]) walk(branch, path);
    if (items) walk(items, `${path}[]`);
    for (const [name, property] of Object.entries(properties)) {
      const inner = path === '' ? name : `${path}.${name}`;
      if (/(Ids?|projects|against)$/.test(name) && !namesOfTheWorld.has(name)) names.add(inner);
      walk(property, inner);
    }
  };
  for (const schema of [body, query])
    if (schema) walk(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as JsonSchema, '');
  return [...names];
}

let app: TestApp;
let firestore: FirestoreSandbox;
let home: TestOrganization;
let own: Ids;
let foreign: Ids;

beforeAll(async () => {
  app = await startTestApp();
  firestore = await startFirestoreSandbox();
  const organizations = [await foundOrganization(app), await foundOrganization(app)] as const;
  for (const organization of organizations) {
    await createOneOfEverything(app, organization);
    await createProjectWithBackup(app, organization, `${firestore.host}:${firestore.port}`);
  }
  home = organizations[0];
  [own, foreign] = [await resourcesOf(app, home), await resourcesOf(app, organizations[1])];
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
});

test('every field that may name something is tested', () => {
  const tried = new Set(attempts.map(({ operation, field }) => `${operation} ${field}`));
  const fields = servedOperations.flatMap((operation) =>
    referencesOf(operation).map((field) => `${operation.id} ${field}`),
  );
  // What a captured moment is compared with is opened as in diffBackup; reaching it needs a log.
  expect(fields.filter((field) => !tried.has(field))).toEqual(['viewPitrDiff against']);
  expect(fields.length).toBeGreaterThan(25);
});

/** Counts the rows that each of the two organizations could have gained. */
async function rowCounts(): Promise<unknown> {
  return asOwner(app.databaseUrl, async (client) => {
    const tables = ['backups', 'restores', 'drills', 'schedules', 'webhooks', 'storage_tasks', 'projects', 'pitr_logs'];
    const counts: Record<string, unknown> = {};
    for (const table of tables) {
      const { rows } = await client.query('select to_regclass($1) as oid', [table]);
      if (rows[0].oid !== null) counts[table] = (await client.query(`select count(*) from ${table}`)).rows[0].count;
    }
    const { rows } = await client.query('select id, default_storage_id from organizations order by id');
    return { ...counts, rows };
  });
}

describe('an id of another organization', () => {
  test.each(attempts.map((attempt) => [attempt.operation, attempt.field, attempt] as const))(
    'in %s %s finds nothing and changes nothing',
    async (id, field, { body, query }) => {
      const before = await rowCounts();
      const search = new URLSearchParams(query?.(own, foreign)).toString();
      const answer = await app.request(operations[id].method, `${pathOf(id, own as never)}?${search}`, {
        token: home.owner.token,
        organizationId: home.id,
        ...(body ? { body: body(own, foreign) } : {}),
      });
      if (answer.status === 200) expect(answer.body.data ?? answer.body, answer.text).toEqual([]);
      else {
        const { code, details } = answer.body.error;
        // Refused because of this field and not because of another fault of the call.
        if (code === 'VALIDATION_ERROR') expect(details.field, answer.text).toContain(field.replace('[]', ''));
        else expect(code, answer.text).toMatch(/_NOT_FOUND$/);
      }
      expect(await rowCounts()).toEqual(before);
    },
  );
});
