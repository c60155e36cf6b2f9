import { type BackupTrigger, backupTriggers } from '@holdfast/contract';
import {
  type BackupReader,
  type BlobStore,
  type ForeignFormat,
  type ManifestBody,
  manifestKey,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import type { DestinationRow } from '../../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from '../backup-store.ts';
import { changesOf, manifestColumns, snapshotShares } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import type { ImportRequest } from '../tables.ts';
import { copyStore } from './copy-store.ts';

/** A backup that was found in a destination. */
export interface FoundBackup {
  readonly reader: BackupReader;
  readonly lockedUntil: Date | null;
}

/** How long it is locked there: as the store says, otherwise by the destination's lock setting. */
export async function findLock(
  store: BlobStore,
  destination: DestinationRow,
  reader: BackupReader,
  signal: AbortSignal,
): Promise<FoundBackup> {
  const info = await store.head(manifestKey(reader.backupId), { signal });
  const usual = lockedUntilOf(destination, new Date(reader.body.completedAt));
  return { reader, lockedUntil: info?.lockedUntil ?? usual };
}

/**
 * Registers a finished backup that was found in a destination, with everything its record would have said. `ofDatabase`
 * names its database when that is not the project's.
 */
export async function registerBackup(
  context: BackupsContext,
  transaction: Transaction,
  destination: DestinationRow,
  projectId: string,
  found: FoundBackup,
  ofDatabase?: string,
): Promise<BackupRow> {
  const { organizationId } = destination;
  const { reader } = found;
  const { backupId } = reader;
  const columns = await columnsOf(context, transaction, destination, found);
  const createdAt = new Date(reader.body.createdAt);
  const trigger = triggerOf(reader.body);
  const imported = importOf(foreignSourceOf(reader.body), ofDatabase);
  const row = { ...columns, id: backupId, organizationId, projectId, trigger, imported, createdAt };
  const inserted = await backupStore.insert(transaction, row, [destination.id]);
  await backupStore.updateCopy(transaction, organizationId, backupId, destination.id, { status: 'completed' });
  return inserted;
}

function importOf(source: ImportRequest['source'] | undefined, ofDatabase: string | undefined): ImportRequest | null {
  if (ofDatabase !== undefined) return { path: '', source: source ?? 'holdfast', ofDatabase };
  return source ? { path: '', source } : null;
}

/** Older manifests do not name the trigger; they only tell safety backups from others. */
function triggerOf({ trigger, isSafety }: ManifestBody): BackupTrigger {
  if (isSafety) return 'pre_restore';
  return backupTriggers.find((one) => one === trigger) ?? 'manual';
}

/** Which kind of foreign file the backup was made from, as its manifest says. Nothing is built on such a backup. */
export function foreignSourceOf({ importedFrom }: ManifestBody): ForeignFormat | undefined {
  return foreignSources.find((one) => one === importedFrom);
}

const foreignSources: readonly ForeignFormat[] = ['firestore-export', 'json', 'ndjson'];

/**
 * Corrects a record that says failed or cancelled although the backup is whole, as after the catalogue was restored
 * from an older copy.
 */
export async function reviveBackup(
  context: BackupsContext,
  transaction: Transaction,
  destination: DestinationRow,
  found: FoundBackup,
): Promise<void> {
  const { organizationId } = destination;
  const { backupId } = found.reader;
  const columns = await columnsOf(context, transaction, destination, found);
  await backupStore.update(transaction, organizationId, backupId, { ...columns, error: null, plan: null });
  const { updatedAt: now, lockedUntil = null } = columns;
  await copyStore.link(transaction, destination, backupId, { now, lockedUntil });
}

type Columns = Omit<NewBackup, 'id' | 'organizationId' | 'projectId' | 'trigger' | 'createdAt'>;

async function columnsOf(
  context: BackupsContext,
  transaction: Transaction,
  destination: DestinationRow,
  { reader, lockedUntil }: FoundBackup,
): Promise<Columns> {
  const { body, backupId } = reader;
  const completedAt = new Date(body.completedAt);
  const keyId = await context.keys.keyOf(transaction, destination.organizationId, backupId, reader.envelope);
  const shardBytes = body.shards.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  return {
    status: 'completed',
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
    changeCount: changesOf(body),
    bytesDone: body.counts.plainBytes,
    documentCount: body.counts.documents,
    size: body.counts.plainBytes,
    compressedSize: body.counts.storedBytes + shardBytes,
    collectionCount: body.collections.length,
    sha256: reader.manifestSha256,
    lockedUntil,
    warnings: body.warnings.map((text) => text.slice(0, 2000)).slice(0, 100),
    updatedAt: context.platform.clock.now(),
  };
}

function lockedUntilOf({ objectLock }: DestinationRow, from: Date): Date | null {
  return objectLock ? later(from, objectLock.days * dayMs) : null;
}
