import { setTimeout as sleep } from 'node:timers/promises';
import { documentsScope, type Scope } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { backupStore } from '../../backups/index.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { Measured } from './measure-restore.ts';
import { openBackup } from './open-one-source.ts';
import type { RestoreMeter } from './restore-meter.ts';
import { safetyPlace } from './safety-place.ts';

const pollMs = 400;

/** Whether anything can be lost that is not saved by itself. */
export function overwrites(row: Pick<RestoreRow, 'mergeMode' | 'deleteExtra'>): boolean {
  return row.mergeMode !== 'skip_existing' || row.deleteExtra;
}

/**
 * Saves what is about to be written over or deleted as a backup of its own, and opens it: its versions are the ones that
 * may be replaced. Undefined when nothing can be overwritten, or when the caller wants nothing saved.
 */
export async function saveBefore(
  context: RestoresContext,
  meter: RestoreMeter,
  { scope, measured, readFrom }: { scope: Scope; measured: Measured; readFrom: string | undefined },
  signal: AbortSignal,
): Promise<RestoreSource | undefined> {
  const { row, target } = meter.work;
  if (!row.safetyBackup || !overwrites(row)) return undefined;
  const few = row.deleteExtra ? undefined : measured.paths;
  const safetyBackupId =
    (await usableSafetyBackup(context, row)) ??
    (await context.backups.startSafetyBackup(row.organizationId, target, {
      restoreId: row.id,
      storageDestinationId: readFrom ?? (await safetyPlace(context, row, signal)),
      scope: few ? documentsScope(few) : scope,
      includeAuthUsers: row.includeAuthUsers,
    }));
  await meter.save({ safetyBackupId });
  await untilCompleted(context, row, safetyBackupId, AbortSignal.any([signal, meter.cancelled]));
  return openBackup(context, row.organizationId, safetyBackupId, signal);
}

/** The one that a restore which broke off has. Nothing was written before it was completed: one that failed is made anew. */
async function usableSafetyBackup(context: RestoresContext, row: RestoreRow): Promise<string | undefined> {
  const { organizationId, safetyBackupId } = row;
  if (safetyBackupId === null) return undefined;
  const backup = await context.platform.database.tenant(organizationId, (transaction) =>
    backupStore.get(transaction, organizationId, safetyBackupId),
  );
  return backup.status === 'failed' || backup.status === 'cancelled' ? undefined : safetyBackupId;
}

/** What the target of an ended restore held before it. */
export async function openFormer(
  context: RestoresContext,
  undone: RestoreRow,
  signal: AbortSignal,
): Promise<RestoreSource | undefined> {
  return undone.safetyBackupId === null
    ? undefined
    : openBackup(context, undone.organizationId, undone.safetyBackupId, signal);
}

async function untilCompleted(
  context: RestoresContext,
  row: RestoreRow,
  safetyBackupId: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const backup = await context.platform.database.tenant(row.organizationId, (transaction) =>
      backupStore.get(transaction, row.organizationId, safetyBackupId),
    );
    if (backup.status === 'completed') return;
    if (backup.status !== 'pending' && backup.status !== 'running') {
      const code = (backup.error?.code ?? 'INTERNAL_ERROR') as 'INTERNAL_ERROR';
      throw new Problem(
        code,
        `The safety backup ${safetyBackupId} ended as ${backup.status}, so nothing was overwritten. ${backup.error?.message ?? ''}`,
      );
    }
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
  }
}
