import { setTimeout as sleep } from 'node:timers/promises';
import { documentsScope, type Scope } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { type BackupRow, backupStore } from '../../backups/index.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { Measured } from './measure-restore.ts';
import { openBackup } from './open-one-source.ts';
import type { RestoreTracker } from './restore-tracker.ts';
import { chooseSafetyDestination, nextSafetyDestination } from './safety-destination.ts';

const pollMs = 400;

/** Whether the restore can overwrite or delete anything. */
export function overwrites(row: Pick<RestoreRow, 'mergeMode' | 'deleteExtra'>): boolean {
  return row.mergeMode !== 'skip_existing' || row.deleteExtra;
}

/**
 * Makes a backup of what will be overwritten or deleted, and opens it. Only the versions in it may be replaced.
 * Undefined when nothing can be overwritten, or when the caller wants no safety backup.
 */
export async function makeSafetyBackup(
  context: RestoresContext,
  tracker: RestoreTracker,
  { scope, measured, readFrom }: { scope: Scope; measured: Measured; readFrom: string | undefined },
  signal: AbortSignal,
): Promise<RestoreSource | undefined> {
  const { row, target } = tracker.work;
  if (!row.safetyBackup || !overwrites(row)) return undefined;
  const few = row.deleteExtra ? undefined : measured.paths;
  const stop = AbortSignal.any([signal, tracker.cancelled]);
  const saveIn = async (storageDestinationId: string) => {
    const overwritten = { restoreId: row.id, scope: few ? documentsScope(few) : scope };
    const { includeAuthUsers } = row;
    return context.backups.startSafetyBackup(row.organizationId, target, {
      ...overwritten,
      includeAuthUsers,
      storageDestinationId,
    });
  };
  let safetyBackupId =
    (await usableSafetyBackup(context, row)) ??
    (await saveIn(readFrom ?? (await chooseSafetyDestination(context, row, signal))));
  const refused: Refused[] = [];
  for (;;) {
    await tracker.save({ safetyBackupId });
    const ended = await untilEnded(context, row, safetyBackupId, stop);
    if (ended.status === 'completed') return openBackup(context, row.organizationId, safetyBackupId, signal);
    refused.push({ place: ended.storageDestinationId, problem: whyNotSaved(ended) });
    const next = isRefusedByStorage(ended)
      ? await nextSafetyDestination(
          context,
          row,
          refused.map(({ place }) => place),
        )
      : undefined;
    if (next === undefined) throw refused[0]!.problem;
    safetyBackupId = await saveIn(next);
  }
}

interface Refused {
  place: string;
  problem: Problem;
}

/** A full bucket, or one that a policy closed, can be read but not written. */
function isRefusedByStorage({ error }: BackupRow): boolean {
  return storageCodes.has(error?.code ?? '');
}
const storageCodes: ReadonlySet<string> = new Set([
  'STORAGE_UPLOAD_ERROR',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_UNAVAILABLE',
  'STORAGE_CREDENTIALS_MISSING',
]);

/**
 * The safety backup of an interrupted restore. Nothing was written before it was completed, so a failed one is made
 * again.
 */
async function usableSafetyBackup(context: RestoresContext, row: RestoreRow): Promise<string | undefined> {
  const { organizationId, safetyBackupId } = row;
  if (safetyBackupId === null) return undefined;
  const backup = await context.platform.database.tenant(organizationId, (transaction) =>
    backupStore.get(transaction, organizationId, safetyBackupId),
  );
  return backup.status === 'failed' || backup.status === 'cancelled' ? undefined : safetyBackupId;
}

/** Opens the safety backup: what the target held before the restore. */
export async function openSafetyBackup(
  context: RestoresContext,
  undone: RestoreRow,
  signal: AbortSignal,
): Promise<RestoreSource | undefined> {
  return undone.safetyBackupId === null
    ? undefined
    : openBackup(context, undone.organizationId, undone.safetyBackupId, signal);
}

async function untilEnded(
  context: RestoresContext,
  row: RestoreRow,
  safetyBackupId: string,
  signal: AbortSignal,
): Promise<BackupRow> {
  for (;;) {
    const backup = await context.platform.database.tenant(row.organizationId, (transaction) =>
      backupStore.get(transaction, row.organizationId, safetyBackupId),
    );
    if (backup.status !== 'pending' && backup.status !== 'running') return backup;
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
  }
}

function whyNotSaved({ id, status, error }: BackupRow): Problem {
  const code = (error?.code ?? 'INTERNAL_ERROR') as 'STORAGE_UPLOAD_ERROR';
  const message = `The safety backup ${id} ended as ${status}, so nothing was overwritten. ${error?.message ?? ''}`;
  // The details from which the backup's advice was chosen.
  return new Problem(code, message, { ...(error?.details && { details: error.details }) });
}
