/** Shared by all removals of a backup's objects. */

import type { AuditAction } from '@holdfast/contract';
import { isEngineError } from '@holdfast/engine';
import { systemActor } from '../../audit/index.ts';
import type { BackupRow } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';

/** A lock or a missing permission: trying again at once would not help. */
export function isRefusal(error: unknown): boolean {
  return isEngineError(error, 'STORAGE_PERMISSION_DENIED') || isEngineError(error, 'STORAGE_CREDENTIALS_MISSING');
}

/** An import in place that did not complete: the files still belong to whoever put them there. */
export function isUnregisteredImport(row: BackupRow): boolean {
  return row.imported?.inPlace === true && row.status !== 'completed';
}

/** Writes an audit entry about the removal. */
export async function noteRemoval(
  context: BackupsContext,
  transaction: Parameters<typeof context.audit.write>[0],
  row: BackupRow,
  action: AuditAction,
  details: Record<string, unknown>,
): Promise<void> {
  await context.audit.write(transaction, {
    organizationId: row.organizationId,
    action,
    actor: systemActor,
    resource: { type: 'backup', id: row.id },
    origin: null,
    details: { projectId: row.projectId, scheduleId: row.scheduleId, ...details },
  });
}
