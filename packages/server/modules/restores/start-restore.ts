import type { BodyOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { OrganizationAccess, Principal, RequestOrigin } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { actorOf } from '../audit/index.ts';
import { backupStore } from '../backups/index.ts';
import { projectStore } from '../projects/index.ts';
import type { RestoresContext } from './context.ts';
import { type NewRestore, type RestoreRow, restoreStore } from './restore-store.ts';
import { admitRestores } from './run/admission.ts';

type Request = BodyOf<Operations['startRestore']>;

export interface Caller {
  organization: OrganizationAccess;
  principal: Principal;
  origin: RequestOrigin;
}

export async function startRestore(context: RestoresContext, caller: Caller, request: Request): Promise<RestoreRow> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  if (request.items) throw invalid('items', 'is not served yet');
  if (request.backupId === undefined) {
    await database.tenant(organizationId, (transaction) =>
      projectStore.get(transaction, organizationId, request.projectId ?? ''),
    );
    throw new Problem('POINT_IN_TIME_UNAVAILABLE', 'Point-in-time recovery is not switched on for this project.', {
      details: { before: null, after: null },
    });
  }
  const backupId = request.backupId;
  const row = await database.tenant(organizationId, async (transaction) => {
    const backup = await backupStore.get(transaction, organizationId, backupId);
    if (backup.status !== 'completed') {
      throw new Problem('INVALID_STATE', `Only a completed backup can be restored; this one is ${backup.status}.`, {
        details: { status: backup.status },
      });
    }
    const target = await projectStore.get(transaction, organizationId, request.targetProjectId ?? backup.projectId);
    const inserted = await restoreStore.insert(
      transaction,
      newRestore(context, organizationId, backup, target.id, request),
    );
    await note(context, transaction, caller, 'restore.created', inserted.id, {
      backupId,
      targetProjectId: target.id,
      mergeMode: inserted.mergeMode,
      dryRun: inserted.dryRun,
    });
    return inserted;
  });
  await admitRestores(context.platform);
  return row;
}

function newRestore(
  context: RestoresContext,
  organizationId: string,
  backup: { id: string; projectId: string; includeAuthUsers: boolean },
  targetProjectId: string,
  request: Request,
): NewRestore {
  const { clock, ids } = context.platform;
  const now = clock.now();
  const { options } = request;
  const named = request.collections ?? options.collections;
  const collections = named && !(named.length === 1 && named[0] === '*') ? named : null;
  return {
    id: ids.next('rst'),
    organizationId,
    backupId: backup.id,
    projectId: backup.projectId,
    targetProjectId,
    status: 'pending',
    phase: 'Initializing',
    mergeMode: options.mergeMode,
    dryRun: options.dryRun,
    collections,
    documentPaths: request.documentIds ? pathsOf(request.documentIds, collections) : null,
    includeAuthUsers: options.includeAuthUsers ?? (backup.includeAuthUsers && !request.documentIds && !collections),
    includeSubcollections: options.includeSubcollections ?? true,
    safetyBackup: options.safetyBackup,
    rewriteReferences: options.rewriteReferences,
    deleteExtra: options.deleteExtra,
    checkpoint: { stage: 'puts' },
    createdAt: now,
    updatedAt: now,
  };
}

/** Bare ids belong to the one collection that is named; paths must be those of documents. */
function pathsOf(ids: readonly string[], collections: readonly string[] | null): string[] {
  const [collection] = collections ?? [];
  const paths = ids.map((id) => (id.includes('/') ? id : `${collection}/${id}`));
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length % 2 !== 0 || segments.includes(''))
      throw invalid('documentIds', `${path.slice(0, 200)} is not the path of a document`);
  }
  return [...new Set(paths)];
}

export async function cancelRestore(context: RestoresContext, caller: Caller, restoreId: string): Promise<void> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, restoreId);
    requireStatus(row, ['pending', 'running'], 'cancelled');
    const now = clock.now();
    const error = {
      code: 'CANCELLED',
      message: 'The restore was cancelled.',
      retryable: false,
      advice: 'Resume it to go on from where it stopped.',
    };
    await restoreStore.update(transaction, organizationId, restoreId, {
      status: 'cancelled',
      completedAt: now,
      updatedAt: now,
      error,
    });
    await note(context, transaction, caller, 'restore.cancelled', restoreId, {});
  });
  await admitRestores(context.platform);
}

/** Goes on from the last checkpoint. What was written is not written again, except for the last stretch, to the same effect. */
export async function resumeRestore(context: RestoresContext, caller: Caller, restoreId: string): Promise<void> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, restoreId);
    requireStatus(row, ['failed', 'cancelled'], 'resumed');
    await backupStore.get(transaction, organizationId, row.backupId);
    await projectStore.get(transaction, organizationId, row.targetProjectId);
    // Documents that failed lie before the checkpoint; only a run from the start meets them again.
    const checkpoint = row.errorCount > 0 ? { stage: 'puts' as const } : row.checkpoint;
    const counts =
      row.errorCount > 0 ? { documentsRestored: 0, documentsSkipped: 0, documentsDeleted: 0, bytesDone: 0 } : {};
    await restoreStore.update(transaction, organizationId, restoreId, {
      ...counts,
      checkpoint,
      status: 'pending',
      phase: 'Initializing',
      admittedAt: null,
      completedAt: null,
      error: null,
      errorCount: 0,
      errorSample: [],
      failures: 0,
      updatedAt: clock.now(),
    });
    await note(context, transaction, caller, 'restore.resumed', restoreId, {});
  });
  await admitRestores(context.platform);
}

function requireStatus(row: RestoreRow, allowed: readonly RestoreRow['status'][], verb: string): void {
  if (allowed.includes(row.status)) return;
  throw new Problem('INVALID_STATE', `A restore that is ${row.status} cannot be ${verb}.`, {
    details: { status: row.status },
  });
}

export async function note(
  context: RestoresContext,
  transaction: Transaction,
  caller: Caller,
  action: string,
  restoreId: string,
  details: Record<string, unknown>,
): Promise<void> {
  await context.audit.write(transaction, {
    organizationId: caller.organization.id,
    action,
    details,
    actor: actorOf(caller.principal),
    resource: { type: 'restore', id: restoreId },
    origin: caller.origin,
  });
}
