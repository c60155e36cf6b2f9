import { type BodyOf, type DataOf, type Operations, operations, pathOf } from '@holdfast/contract';
import type { Caller } from '../../../platform/principal.ts';
import { invalid } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import type { ProjectsContext } from '../context.ts';
import { presentConnection } from '../present-project.ts';
import { type NewProject, type ProjectRow, projectStore } from '../project-store.ts';
import { checkConnection } from './check-connection.ts';
import { credentialsPurpose } from './open-source.ts';
import { requireStillMember } from './still-member.ts';

/**
 * With a consent: returns where to give it again. Otherwise: checks the connection again. A new key replaces the former
 * key or the consent only after the database has accepted it.
 */
export async function reconnectProject(
  context: ProjectsContext,
  caller: Caller,
  projectId: string,
  request: BodyOf<Operations['reconnectProject']>,
): Promise<DataOf<Operations['reconnectProject']>> {
  const { database, keyring, clock } = context.platform;
  const { organization, principal } = caller;
  const row = await database.tenant(organization.id, (transaction) =>
    projectStore.get(transaction, organization.id, projectId),
  );
  if (request?.key && row.connectionType === 'emulator')
    throw invalid('key', 'this project is an emulator, which asks for none');
  const renewed: Partial<NewProject> = request?.key
    ? {
        connectionType: 'service_account',
        credentials: keyring.seal(JSON.stringify(request.key), credentialsPurpose(projectId)),
        connectionEmail: request.key.client_email,
        connectionUserId: null,
        reconnectUserId: null,
      }
    : {};
  const isConsent = row.connectionType === 'oauth' && !request?.key;
  if (isConsent && principal.kind === 'person') renewed.reconnectUserId = principal.userId;
  const { failure, ...check } = await checkConnection(context.sources, { ...row, ...renewed } as ProjectRow, clock);
  if (request?.key && failure !== undefined) throw toProblem(failure);
  const updated = await database.tenant(organization.id, async (transaction) => {
    await requireStillMember(context, transaction, caller, operations.reconnectProject.access.role);
    const locked = await projectStore.lock(transaction, organization.id, projectId);
    const changed = await projectStore.update(transaction, locked, { ...renewed, ...check, updatedAt: clock.now() });
    if (check.connectionStatus === 'connected') await context.dependents.reconnected(transaction, locked);
    await context.audit.noteCaller(transaction, caller, {
      action: 'project.reconnected',
      resource: { type: 'project', id: projectId },
      details: { status: check.connectionStatus, newKey: request?.key !== undefined },
    });
    return changed;
  });
  const authorizationUrl = isConsent ? `${context.platform.baseUrl()}${pathOf('startSignIn')}` : null;
  return { authorizationUrl, connection: presentConnection(updated) };
}
