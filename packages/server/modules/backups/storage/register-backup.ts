import type { BackupReader } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import type { DestinationRow } from '../../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from '../backup-store.ts';
import { manifestColumns, snapshotShares } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';

/** A finished backup that was found in a destination, with everything its record would have said. */
export async function registerBackup(
  context: BackupsContext,
  transaction: Transaction,
  destination: DestinationRow,
  projectId: string,
  reader: BackupReader,
): Promise<BackupRow> {
  const { organizationId } = destination;
  const { body, backupId } = reader;
  const completedAt = new Date(body.completedAt);
  const keyId = await context.keys.keyOf(transaction, organizationId, backupId, reader.envelope);
  const shardBytes = body.shards.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  const row: NewBackup = {
    id: backupId,
    organizationId,
    projectId,
    status: 'completed',
    trigger: 'manual',
    ...manifestColumns(body),
    storageDestinationId: destination.id,
    startedAt: new Date(body.createdAt),
    completedAt,
    envelope: reader.envelope,
    keyId: keyId ?? null,
    snapshots: snapshotShares(body),
    phase: 'Completed',
    percent: 100,
    percentTold: 100,
    documentsDone: body.counts.puts,
    bytesDone: body.counts.plainBytes,
    documentCount: body.counts.documents,
    size: body.counts.plainBytes,
    compressedSize: body.counts.storedBytes + shardBytes,
    collectionCount: body.collections.length,
    sha256: reader.manifestSha256,
    lockedUntil: destination.objectLock ? later(completedAt, destination.objectLock.days * dayMs) : null,
    warnings: body.warnings.map((text) => text.slice(0, 2000)).slice(0, 100),
    createdAt: new Date(body.createdAt),
    updatedAt: context.platform.clock.now(),
  };
  const inserted = await backupStore.insert(transaction, row, [destination.id]);
  await backupStore.updateCopy(transaction, organizationId, backupId, destination.id, { status: 'completed' });
  return inserted;
}
