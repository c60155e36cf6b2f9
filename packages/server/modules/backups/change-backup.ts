import type { Transaction } from '../../platform/database/database.ts';
import { Problem } from '../../platform/problem.ts';
import { actorOf } from '../audit/index.ts';
import { admitBackups } from './admission.ts';
import { type BackupRow, backupEtag, backupStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import type { Caller } from './create-backup.ts';
import { cancelBackup } from './end-backup.ts';
import { removeObjectsJob, verifyBackupJob } from './jobs.ts';

/** Ends a waiting or running backup; its workers notice within a second or two, and what was written is removed. */
export async function cancel(context: BackupsContext, caller: Caller, backupId: string): Promise<void> {
  const organizationId = caller.organization.id;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (!(await cancelBackup(context, transaction, organizationId, backupId))) {
      throw new Problem('INVALID_STATE', `The backup is ${row.status} already.`, { details: { status: row.status } });
    }
    await note(context, transaction, caller, 'backup.cancelled', backupId);
  });
  await admitBackups(context.platform);
}

/** The record goes at once, its objects as a job. Increments, restores, holds and locks stand in the way. */
export async function deleteBackup(
  context: BackupsContext,
  caller: Caller,
  backupId: string,
  requireMatch: (etag: string) => void,
): Promise<void> {
  const organizationId = caller.organization.id;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    requireMatch(backupEtag(row));
    await requireRemovable(context, transaction, row);
    await removeRow(context, transaction, row);
    await note(context, transaction, caller, 'backup.deleted', backupId);
  });
}

export async function requireRemovable(
  context: BackupsContext,
  transaction: Transaction,
  row: BackupRow,
): Promise<void> {
  if (row.legalHold)
    throw new Problem('INVALID_STATE', 'The backup is under legal hold.', { details: { status: row.status } });
  if (row.lockedUntil && row.lockedUntil > context.platform.clock.now()) {
    throw new Problem('INVALID_STATE', `The backup is locked by its storage until ${row.lockedUntil.toISOString()}.`, {
      details: { status: row.status },
    });
  }
  if (row.status === 'pending' || row.status === 'running') {
    throw new Problem('INVALID_STATE', `The backup is ${row.status}; cancel it instead.`, {
      details: { status: row.status },
    });
  }
  const children = await backupStore.children(transaction, row.organizationId, row.id);
  const usedBy = [
    ...children.map(({ id }) => ({ type: 'backup', id })),
    ...(await context.readers(transaction, row.organizationId, row.id)),
  ];
  if (usedBy.length > 0)
    throw new Problem('RESOURCE_IN_USE', 'Increments or restores depend on this backup.', { details: { usedBy } });
}

export async function removeRow(context: BackupsContext, transaction: Transaction, row: BackupRow): Promise<void> {
  const { clock, queue } = context.platform;
  const now = clock.now();
  await backupStore.update(transaction, row.organizationId, row.id, { deletedAt: now, updatedAt: now });
  await queue.enqueue(
    transaction,
    removeObjectsJob,
    { organizationId: row.organizationId, backupId: row.id },
    { key: row.id },
  );
}

export async function setHold(
  context: BackupsContext,
  caller: Caller,
  backupId: string,
  legalHold: boolean,
): Promise<void> {
  const organizationId = caller.organization.id;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    await backupStore.lock(transaction, organizationId, backupId);
    await backupStore.update(transaction, organizationId, backupId, {
      legalHold,
      updatedAt: context.platform.clock.now(),
    });
    await note(context, transaction, caller, legalHold ? 'backup.held' : 'backup.released', backupId);
  });
}

export async function startVerification(context: BackupsContext, caller: Caller, backupId: string): Promise<void> {
  const { database, queue, clock } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (row.status !== 'completed')
      throw new Problem('INVALID_STATE', `Only a completed backup can be verified; this one is ${row.status}.`, {
        details: { status: row.status },
      });
    const verification = { status: 'running' as const, segments: 0, documents: 0, errors: [] };
    await backupStore.update(transaction, organizationId, backupId, { verification, updatedAt: clock.now() });
    await queue.enqueue(transaction, verifyBackupJob, { organizationId, backupId }, { key: backupId });
    await note(context, transaction, caller, 'backup.verification_started', backupId);
  });
}

export async function note(
  context: BackupsContext,
  transaction: Transaction,
  caller: Caller,
  action: string,
  backupId: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await context.audit.write(transaction, {
    organizationId: caller.organization.id,
    action,
    details,
    actor: actorOf(caller.principal),
    resource: { type: 'backup', id: backupId },
    origin: caller.origin,
  });
}
