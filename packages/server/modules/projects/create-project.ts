import { type BodyOf, type Operations, operations } from '@holdfast/contract';
import { findEarlierResult } from '../../platform/earlier-result.ts';
import type { Caller, Principal } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { toProblem } from '../job-error.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import { checkConnection } from './connection/check-connection.ts';
import { credentialsPurpose } from './connection/open-source.ts';
import { sampleHost } from './connection/sample-firestore.ts';
import { requireStillMember } from './connection/still-member.ts';
import type { ProjectsContext } from './context.ts';
import { presentProjectSummary } from './present-project.ts';
import { type NewProject, type ProjectRow, projectStore } from './project-store.ts';
import { projectsLimit } from './projects-limit.ts';

type Request = BodyOf<Operations['createProject']>;

/** Connects a project; the database must answer before anything is written. */
export async function createProject(context: ProjectsContext, caller: Caller, request: Request): Promise<ProjectRow> {
  const { database, clock, outbox } = context.platform;
  const { organization, principal } = caller;
  const made = await findEarlierResult(context.platform, caller, 'prj', projectStore.findKept);
  if (made) return made;
  const row = draft(context, organization.id, principal, request, caller.origin.newId);
  const { failure, ...check } = await checkConnection(context.sources, row as ProjectRow, clock);
  if (failure !== undefined) throw toProblem(failure);
  return database.tenant(organization.id, async (transaction) => {
    await requireStillMember(context, transaction, caller, operations.createProject.access.role);
    await requireBelowLimit(transaction, organization.id, projectsLimit(context.platform.config));
    await projectStore.insert(transaction, { ...row, ...check });
    const stored = await projectStore.get(transaction, organization.id, row.id);
    await outbox.emit(transaction, {
      organizationId: organization.id,
      type: 'project.created',
      payload: { data: { project: presentProjectSummary(stored) }, filter: { projectId: row.id } },
    });
    await context.audit.noteCaller(transaction, caller, {
      action: 'project.created',
      resource: { type: 'project', id: row.id },
      details: {
        name: row.name,
        sourceProjectId: row.sourceProjectId,
        databaseId: row.databaseId,
        connection: row.connectionType,
      },
    });
    return stored;
  });
}

function draft(
  context: ProjectsContext,
  organizationId: string,
  principal: Principal,
  request: Request,
  newId: string | undefined,
): NewProject {
  const { clock, ids, keyring, config } = context.platform;
  const id = ids.next('prj', newId);
  const now = clock.now();
  const { connection, settings } = request;
  const base = {
    id,
    organizationId,
    name: request.name,
    sourceProjectId: request.sourceProjectId,
    databaseId: request.databaseId,
    connectionType: connection.type,
    connectionStatus: 'connected' as const,
    createdAt: now,
    updatedAt: now,
    version: 1,
    connectionHost: null,
    connectionUserId: null,
    credentials: null,
    connectionEmail: null,
    readRateLimit: null,
    ...settings,
  };
  if (connection.type === 'service_account') {
    const credentials = keyring.seal(JSON.stringify(connection.key), credentialsPurpose(id));
    return { ...base, credentials, connectionEmail: connection.key.client_email };
  }
  if (connection.type === 'oauth') {
    if (principal.kind !== 'person')
      throw new Problem('FORBIDDEN', 'An API key has given no consent; connect with a service account key instead.');
    return { ...base, connectionUserId: principal.userId, connectionEmail: principal.email };
  }
  if (!config.ALLOW_EMULATOR_SOURCES)
    throw invalid(
      'connection.type',
      'emulators are not allowed by the operator of this service (ALLOW_EMULATOR_SOURCES)',
    );
  if (connection.host === sampleHost && !config.offersSample)
    throw invalid('connection.host', 'this service runs as several processes and has no sample database');
  return { ...base, connectionHost: connection.host };
}
