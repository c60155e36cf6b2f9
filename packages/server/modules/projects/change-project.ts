import type { BodyOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { OrganizationAccess, Principal, RequestOrigin } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { actorOf } from '../audit/index.ts';
import type { ProjectsContext } from './context.ts';
import { presentProjectSummary } from './present-project.ts';
import { type ProjectRow, projectEtag, projectStore } from './project-store.ts';

type Change = BodyOf<Operations['updateProject']>;

export interface Caller {
  organization: OrganizationAccess;
  principal: Principal;
  origin: RequestOrigin;
  requireMatch: (etag: string) => void;
}

export async function changeProject(
  context: ProjectsContext,
  caller: Caller,
  projectId: string,
  change: Change,
): Promise<ProjectRow> {
  if (change.organizationId !== undefined) return moveProject(context, caller, projectId, change.organizationId);
  const { organization } = caller;
  return context.platform.database.tenant(organization.id, async (transaction) => {
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    const fields = { ...(change.name === undefined ? {} : { name: change.name }), ...change.settings };
    const updated = await projectStore.update(transaction, row, { ...fields, updatedAt: context.platform.clock.now() });
    await note(context, transaction, caller, organization.id, 'project.updated', projectId, {
      fields: Object.keys(fields),
    });
    return updated;
  });
}

/** Needs admin or owner on both sides; seen and carried out in one transaction that spans them. */
async function moveProject(
  context: ProjectsContext,
  caller: Caller,
  projectId: string,
  toId: string,
): Promise<ProjectRow> {
  const { organization, principal } = caller;
  requireAdmin(organization.role ?? undefined);
  if (principal.kind !== 'person')
    throw new Problem('FORBIDDEN', 'An API key belongs to one organization and cannot move a project.');
  const role = await context.roleIn(toId, principal.userId);
  if (role === undefined) throw new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
  requireAdmin(role);
  if (toId === organization.id) throw new Problem('CONFLICT', 'The project belongs to this organization already.');
  return context.platform.database.system(async (transaction) => {
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    await requireIdle(context, transaction, row);
    await context.dependents.move(transaction, row, toId);
    const moved = await projectStore.update(transaction, row, {
      organizationId: toId,
      updatedAt: context.platform.clock.now(),
    });
    await note(context, transaction, caller, organization.id, 'project.moved', projectId, { to: toId });
    await note(context, transaction, caller, toId, 'project.moved', projectId, { from: organization.id });
    return moved;
  });
}

export async function deleteProject(
  context: ProjectsContext,
  caller: Caller,
  projectId: string,
  deleteBackups: boolean,
): Promise<void> {
  const { organization } = caller;
  const { database, clock, outbox } = context.platform;
  await database.tenant(organization.id, async (transaction) => {
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    await requireIdle(context, transaction, row);
    if (deleteBackups) await context.dependents.deleteBackups(transaction, row);
    await context.dependents.removed(transaction, row);
    const now = clock.now();
    await projectStore.update(transaction, row, {
      deletedAt: now,
      updatedAt: now,
      credentials: null,
      connectionUserId: null,
      reconnectUserId: null,
    });
    const data = { project: presentProjectSummary(row) };
    await outbox.emit(transaction, {
      organizationId: organization.id,
      type: 'project.deleted',
      payload: { data, filter: { projectId: row.id } },
    });
    await note(context, transaction, caller, organization.id, 'project.deleted', projectId, {
      name: row.name,
      deleteBackups,
    });
  });
}

async function requireIdle(context: ProjectsContext, transaction: Transaction, row: ProjectRow): Promise<void> {
  const usedBy = await context.dependents.runningJobs(transaction, row.organizationId, row.id);
  if (usedBy.length > 0)
    throw new Problem('RESOURCE_IN_USE', 'A job works on this project; wait for it or cancel it.', {
      details: { usedBy },
    });
}

function requireAdmin(role: string | undefined): void {
  if (role === 'admin' || role === 'owner') return;
  const details = { requiredRole: 'admin', currentRole: role ?? 'viewer' };
  throw new Problem('PERMISSION_DENIED', 'Moving a project needs the role admin in both organizations.', { details });
}

async function note(
  context: ProjectsContext,
  transaction: Transaction,
  caller: Caller,
  organizationId: string,
  action: string,
  projectId: string,
  details: Record<string, unknown>,
): Promise<void> {
  await context.audit.write(transaction, {
    organizationId,
    action,
    details,
    actor: actorOf(caller.principal),
    resource: { type: 'project', id: projectId },
    origin: caller.origin,
  });
}
