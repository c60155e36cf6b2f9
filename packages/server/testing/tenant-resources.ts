import { notFoundByParameter } from '@holdfast/contract';
import { asOwner } from './people.ts';
import { untilEnded } from './protected-project.ts';
import type { TestOrganization } from './team.ts';
import { addMember } from './team.ts';
import type { TestApp } from './test-app.ts';

/** The table of each path parameter's resource. Parameters without a table belong to another one. */
const tables: Record<string, string> = {
  organizationId: 'organizations',
  userId: 'memberships',
  inviteId: 'invitations',
  sessionId: 'sessions',
  projectId: 'projects',
  storageDestinationId: 'storage_destinations',
  backupId: 'backups',
  restoreJobId: 'restores',
  scheduleId: 'schedules',
  webhookId: 'webhooks',
  deliveryId: 'webhook_deliveries',
  taskId: 'storage_tasks',
};

/** Fills an organization with one of everything that needs no external system. */
export async function createOneOfEverything(
  app: TestApp,
  organization: Pick<TestOrganization, 'id' | 'owner'>,
): Promise<void> {
  const as = { token: organization.owner.token, organizationId: organization.id };
  await addMember(app, organization.id, 'member');
  const bodies: [string, object][] = [
    ['/organizations/current/invites', { email: 'guest@example.com' }],
    ['/organizations/current/service-account', { name: 'robot' }],
    ['/webhooks', { name: 'hook', url: 'https://example.com/hook', events: ['*'] }],
    ['/storage-destinations', { name: 'Folder', type: 'local', path: `storage/${organization.id}` }],
  ];
  for (const [path, body] of bodies) {
    const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
  }
}

/** A project with one completed backup, for tests with a Firestore. */
export async function createProjectWithBackup(
  app: TestApp,
  organization: Pick<TestOrganization, 'id' | 'owner'>,
  firestoreHost: string,
): Promise<void> {
  const as = { token: organization.owner.token, organizationId: organization.id };
  const post = async (path: string, body: object) => {
    const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.body.data;
  };
  const connection = { type: 'emulator', host: firestoreHost };
  const { id: projectId } = await post('/projects', { name: 'Shop', sourceProjectId: 'shop', connection });
  const { storageDestinationId } = await resourcesOf(app, organization);
  await post('/schedules', { projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false });
  const { id } = await post('/backups', { projectId, type: 'full', storageDestinationId });
  const backup = await untilEnded(app, `/api/v1/backups/${id}`, as);
  if (backup.status !== 'completed') throw new Error(JSON.stringify(backup.error));
}

/** For every path parameter the id of something in the organization, or an invented one. */
export function resourcesOf(
  app: TestApp,
  organization: Pick<TestOrganization, 'id' | 'owner'>,
): Promise<Record<string, string>> {
  return asOwner(app.databaseUrl, async (client) => {
    const found: Record<string, string> = {};
    for (const parameter of Object.keys(notFoundByParameter)) {
      found[parameter] = 'made_up';
      const table = tables[parameter];
      const exists = table && (await client.query('select to_regclass($1) as oid', [table])).rows[0].oid !== null;
      if (!exists) continue;
      const { rows } = await client.query(statement(parameter, table), [
        parameter === 'sessionId' ? organization.owner.id : organization.id,
      ]);
      if (rows[0]) found[parameter] = rows[0].id;
    }
    return found;
  });
}

function statement(parameter: string, table: string): string {
  if (parameter === 'organizationId') return 'select id from organizations where id = $1';
  if (parameter === 'sessionId') return 'select id from sessions where user_id = $1';
  if (parameter === 'userId')
    return `select user_id as id from memberships where organization_id = $1 and role <> 'owner'`;
  return `select id from ${table} where organization_id = $1 limit 1`;
}
