import { allOperations, scopes } from '@holdfast/contract';
import type { FirestoreSandbox } from '@holdfast/sandbox';
import { addMember, foundOrganization, type TestOrganization } from '../team.ts';
import { createOneOfEverything, createProjectWithBackup, resourcesOf } from '../tenant-resources.ts';
import type { TestApp } from '../test-app.ts';

/**
 * An organization with one of everything, and callers in its name. It gets used up, because cases delete what they
 * find.
 */
export interface ApiWorld {
  organization: TestOrganization;
  ids: Readonly<Record<string, string>>;
  tokens: Readonly<Record<Caller, string | undefined>>;
  firestoreHost: string;
  /** An instant that can be read, once changes are captured. */
  moment: string;
}

export type Caller = 'owner' | 'viewer' | 'key' | 'anonymous';

export async function createApiWorld(app: TestApp, firestore: FirestoreSandbox): Promise<ApiWorld> {
  const organization = await foundOrganization(app, 'Fuzz');
  const firestoreHost = `${firestore.host}:${firestore.port}`;
  await createOneOfEverything(app, organization);
  await createProjectWithBackup(app, organization, firestoreHost);
  const as = { token: organization.owner.token, organizationId: organization.id };
  const own = await resourcesOf(app, organization);
  await app.request('POST', '/api/v1/backups/restore', { ...as, body: { backupId: own.backupId } });
  await makeSchedule(app, as, own.projectId ?? '');
  const moment = await captureMoment(app, as, own.projectId ?? '');
  const key = await keyOf(app, as);
  const viewer = await addMember(app, organization.id, 'viewer');
  return {
    organization,
    firestoreHost,
    moment,
    ids: await resourcesOf(app, organization),
    tokens: { owner: organization.owner.token, viewer: viewer.token, key, anonymous: undefined },
  };
}

interface As {
  token: string;
  organizationId: string;
}

async function keyOf(app: TestApp, as: As): Promise<string> {
  const path = '/api/v1/organizations/current/service-account';
  await app.request('DELETE', path, as);
  const made = await app.request('POST', path, { ...as, body: { name: 'all', permissions: scopes } });
  return made.body.data.apiKey;
}

const captureTries = 20;
const captureEveryMs = 150;

/** Switches capture on and waits a little for an instant that it covers. */
async function captureMoment(app: TestApp, as: As, projectId: string): Promise<string> {
  const path = `/api/v1/projects/${projectId}/pitr`;
  await app.request('POST', `${path}/enable`, { ...as, body: {} });
  for (let count = 0; count < captureTries; count += 1) {
    const { coveredTo } = (await app.request('GET', path, as)).body.data ?? {};
    if (coveredTo) return coveredTo;
    await new Promise((resolve) => setTimeout(resolve, captureEveryMs));
  }
  return app.clock.now().toISOString();
}

async function makeSchedule(app: TestApp, as: As, projectId: string): Promise<void> {
  if (allOperations.find(({ id }) => id === 'createSchedule')?.available === false) return;
  const body = { projectId, name: 'Yearly', cron: '0 0 1 1 *' };
  await app.request('POST', '/api/v1/schedules', { ...as, body });
}
