import type { AuditAction, BodyOf, Operations, Role } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { differences } from '../../platform/differences.ts';
import type { VersionedCaller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { requireMayDeleteBackups } from '../../platform/rights.ts';
import type { AuditNote } from '../audit/index.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import { withoutConsent } from './connection/drop-consent.ts';
import type { ProjectsContext } from './context.ts';
import { presentProjectSummary } from './present-project.ts';
import { type ProjectRow, projectEtag, projectStore } from './project-store.ts';
import { projectsLimit } from './projects-limit.ts';

type Change = BodyOf<Operations['updateProject']>;

export async function changeProject(
  context: ProjectsContext,
  caller: VersionedCaller,
  projectId: string,
  change: Change,
): Promise<ProjectRow> {
  if (change.organizationId !== undefined) return moveProject(context, caller, projectId, change.organizationId);
  const { organization } = caller;
  return context.platform.database.tenant(organization.id, async (transaction) => {
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    const fields = differences(row, { name: change.name, ...change.settings });
    if (Object.keys(fields).length === 0) return row;
    const updated = await projectStore.update(transaction, row, { ...fields, updatedAt: context.platform.clock.now() });
    const details = { fields: Object.keys(fields) };
    await context.audit.noteCaller(transaction, caller, noteOf('project.updated', projectId, details));
    return updated;
  });
}

/** Schedules move along disabled. Their due times are taken first, so that none is lost. */
async function moveProject(
  context: ProjectsContext,
  caller: VersionedCaller,
  projectId: string,
  toId: string,
): Promise<ProjectRow> {
  for (;;) {
    const moved = await moveUnlessDue(context, caller, projectId, toId);
    if (moved) return moved;
    await context.dependents.takeDue(caller.organization.id, projectId);
  }
}

/** Needs admin or owner in both organizations; checked and carried out in one transaction that spans them. */
async function moveUnlessDue(
  context: ProjectsContext,
  caller: VersionedCaller,
  projectId: string,
  toId: string,
): Promise<ProjectRow | undefined> {
  const { organization, principal } = caller;
  if (principal.kind !== 'person')
    throw new Problem('FORBIDDEN', 'An API key belongs to one organization and cannot move a project.');
  return context.platform.database.system(async (transaction) => {
    await requireAdminInBoth(context, transaction, principal.userId, organization.id, toId);
    if (toId === organization.id) throw new Problem('CONFLICT', 'The project belongs to this organization already.');
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    await requireIdle(context, transaction, row);
    if (await context.dependents.isDue(transaction, row)) return undefined;
    await requireBelowLimit(transaction, toId, projectsLimit(context.platform.config), {
      whose: 'The other organization',
    });
    const now = context.platform.clock.now();
    await context.dependents.move(transaction, row, toId);
    const moved = await projectStore.update(transaction, row, {
      ...(row.connectionType === 'oauth' ? withoutConsent(row, consentStays, now) : {}),
      organizationId: toId,
      updatedAt: now,
    });
    for (const [organizationId, type] of [
      [organization.id, 'project.deleted'],
      [toId, 'project.created'],
    ] as const) {
      const payload = { data: { project: presentProjectSummary(moved) }, filter: { projectId } };
      await context.platform.outbox.emit(transaction, { organizationId, type, payload });
    }
    await context.audit.noteCaller(transaction, caller, noteOf('project.moved', projectId, { to: toId }));
    const there = { ...caller, organization: { ...organization, id: toId } };
    const arrival = noteOf('project.moved', projectId, { from: organization.id });
    await context.audit.noteCaller(transaction, there, arrival);
    return moved;
  });
}

const consentStays = 'The project was moved, and a consent does not move with it.';

/**
 * Read under the locks of both organizations, taken in the order of their ids, so a demotion either came before or
 * waits.
 */
async function requireAdminInBoth(
  context: ProjectsContext,
  transaction: Transaction,
  userId: string,
  fromId: string,
  toId: string,
): Promise<void> {
  const roles = new Map<string, Role | undefined>();
  for (const id of [...new Set([fromId, toId])].sort())
    roles.set(id, await context.roleUnderLock(transaction, id, userId));
  requireAdmin(roles.get(fromId));
  const there = roles.get(toId);
  if (there === undefined) throw new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
  requireAdmin(there);
}

/** Also removes captured changes, and the backups if wanted. Returns how many backups were deleted. */
export async function deleteProject(
  context: ProjectsContext,
  caller: VersionedCaller,
  projectId: string,
  deleteBackups: boolean,
): Promise<number> {
  const { organization } = caller;
  const { database, clock, outbox } = context.platform;
  if (deleteBackups) requireMayDeleteBackups(caller);
  return database.tenant(organization.id, async (transaction) => {
    const row = await projectStore.lock(transaction, organization.id, projectId);
    caller.requireMatch(projectEtag(row));
    if (await context.dependents.isCaptured(transaction, row))
      requireMayDeleteBackups(caller, 'Disconnecting a project deletes what was captured of it, which');
    await requireIdle(context, transaction, row);
    const backups = deleteBackups ? await context.dependents.deleteBackups(transaction, caller, row) : 0;
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
    const details = { name: row.name, deleteBackups, backups };
    await context.audit.noteCaller(transaction, caller, noteOf('project.deleted', projectId, details));
    return backups;
  });
}

async function requireIdle(context: ProjectsContext, transaction: Transaction, row: ProjectRow): Promise<void> {
  const usedBy = await context.dependents.runningJobs(transaction, row.organizationId, row.id);
  if (usedBy.length > 0)
    throw new Problem('RESOURCE_IN_USE', 'A job works on this project; wait for it or cancel it.', {
      details: { usedBy },
    });
}

function requireAdmin(role: Role | undefined): void {
  if (role === 'admin' || role === 'owner') return;
  const details = { requiredRole: 'admin', currentRole: role ?? 'viewer' } as const;
  throw new Problem('PERMISSION_DENIED', 'Moving a project needs the role admin in both organizations.', { details });
}

function noteOf(action: AuditAction, projectId: string, details: Record<string, unknown>): AuditNote {
  return { action, resource: { type: 'project', id: projectId }, details };
}
