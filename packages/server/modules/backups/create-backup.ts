import type { BodyOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { Caller, Principal } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import { storageStore } from '../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { admitBackups } from './run/admission.ts';

export type CreateBackupRequest = BodyOf<Operations['createBackup']>;

/** Writes the backup as pending, with its audit row; the admission lets it run when its turn comes. */
export async function createBackup(
  context: BackupsContext,
  caller: Caller,
  request: CreateBackupRequest,
): Promise<BackupRow> {
  const { organization, principal } = caller;
  const { database, ids } = context.platform;
  const id = ids.next('bkp', caller.origin.newId);
  const row = await database.tenant(organization.id, async (transaction) => {
    const made = caller.origin.newId && (await backupStore.findAny(transaction, organization.id, id));
    if (made) return made;
    const project = await projectStore.get(transaction, organization.id, request.projectId);
    const destinationIds = await destinationsOf(context, transaction, organization.id, request);
    if (request.type === 'synthetic') await requireMergeable(transaction, organization.id, project.id);
    const inserted = await backupStore.insert(
      transaction,
      { id, ...newBackup(context, organization.id, project, request, destinationIds[0] as string, principal) },
      destinationIds,
    );
    // The insert holds the project, so it can no longer be disconnected; before that, it could.
    await projectStore.get(transaction, organization.id, project.id);
    await context.audit.noteCaller(transaction, caller, {
      action: 'backup.created',
      resource: { type: 'backup', id: inserted.id },
      details: { projectId: project.id, type: request.type, storageDestinationIds: destinationIds },
    });
    return inserted;
  });
  await admitBackups(context.platform);
  return row;
}

/** Throws when there is nothing to merge. A backup that is still being made counts: the merge waits for it. */
export async function requireMergeable(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<void> {
  if (await backupStore.hasMergeable(transaction, organizationId, projectId)) return;
  throw new Problem('INVALID_STATE', 'The project has no backup yet that could be merged; take a full one first.');
}

function newBackup(
  context: BackupsContext,
  organizationId: string,
  project: ProjectRow,
  request: CreateBackupRequest,
  destinationId: string,
  principal: Principal,
): Omit<NewBackup, 'id'> {
  const now = context.platform.clock.now();
  return {
    organizationId,
    projectId: project.id,
    type: request.type,
    status: 'pending',
    trigger: principal.kind === 'key' ? 'api' : 'manual',
    collections: request.collections,
    excludeCollections: request.excludeCollections,
    includeSubcollections: request.includeSubcollections,
    includeAuthUsers: request.includeAuthUsers ?? project.includeAuthUsers,
    storageDestinationId: destinationId,
    retentionDays: request.retention ?? null,
    phase: 'Waiting',
    createdAt: now,
    updatedAt: now,
  };
}

const noneGiven = 'is required, because the organization has no default storage destination';

/**
 * The named destinations, or the organization's default. Each must exist; one that fails at present is allowed. When
 * several records name the same place, only the first is used: two copies in one place are one.
 */
export async function destinationsOf(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  request: { storageDestinationId?: string | undefined; storageDestinationIds?: string[] | undefined },
  reasonOfNone = noneGiven,
): Promise<string[]> {
  const named =
    request.storageDestinationIds ?? (request.storageDestinationId === undefined ? [] : [request.storageDestinationId]);
  if (named.length > 0) {
    const places = new Map<string, string>();
    for (const id of new Set(named)) {
      const { placeId } = await storageStore.hold(transaction, organizationId, id);
      if (!places.has(placeId ?? id)) places.set(placeId ?? id, id);
    }
    return [...places.values()];
  }
  const organization = await context.organizations.active(transaction, organizationId);
  const fallback = organization?.defaultStorageId;
  if (!fallback || !(await storageStore.findHeld(transaction, organizationId, fallback))) {
    throw invalid('storageDestinationId', reasonOfNone);
  }
  return [fallback];
}
