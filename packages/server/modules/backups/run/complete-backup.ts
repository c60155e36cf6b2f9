import type { ManifestBody, WrittenManifest } from '@holdfast/engine';
import { dayMs, later } from '../../../platform/durations.ts';
import { recordUse } from '../../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from '../backup-store.ts';
import { changesOf, snapshotShares } from '../contents/manifest-columns.ts';
import { verifyUnread } from '../contents/verification-store.ts';
import type { BackupsContext } from '../context.ts';
import { backupEvent, progressEvents } from '../events/backup-events.ts';
import { finalizeEnvelope, type WrappedKey } from '../keys/finalize-envelope.ts';
import { type LoadedBackup, loadBackup } from '../load-backup.ts';
import { warning } from '../warnings.ts';
import { type RangeRow, rangeStore } from './range-store.ts';

const warningLengthMax = 2000;
const collectionsCountedMax = 500;
const largeFromDocuments = 1000;

export interface Completion {
  written: WrittenManifest;
  goodCopies: readonly string[];
  /** Absent for a backup that was made in one step. */
  ranges?: readonly RangeRow[];
  change?: Partial<NewBackup>;
  /** For a backup made in one step: it has wrapped its own key, and no row holds the envelope yet. */
  wrapped?: WrappedKey;
}

/** The only transaction that completes a backup. Does nothing when the backup has ended in another way meanwhile. */
export async function completeBackup(
  context: BackupsContext,
  { organizationId, id: backupId }: Pick<BackupRow, 'organizationId' | 'id'>,
  completion: Completion,
): Promise<void> {
  const { database, clock, outbox } = context.platform;
  const { written, goodCopies } = completion;
  await database.tenant(organizationId, async (transaction) => {
    if (completion.wrapped) await context.organizations.hold(transaction, organizationId);
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    const row = loaded && (await backupStore.findLocked(transaction, organizationId, backupId));
    if (!loaded || row?.status !== 'running') return;
    const key = completion.wrapped && (await finalizeEnvelope(context, transaction, row, completion.wrapped));
    const change = { ...completedColumns({ ...loaded, row }, completion, clock.now()), ...key };
    const completed = await backupStore.update(transaction, organizationId, backupId, change);
    for (const id of goodCopies) {
      await backupStore.updateCopy(transaction, organizationId, backupId, id, { status: 'completed', error: null });
      if (await recordUse(context.platform, transaction, { organizationId, id }, null))
        await verifyUnread(transaction, organizationId, clock.now(), id);
    }
    if (completion.ranges && !loaded.project.deletedAt) await context.projects.markWorking(transaction, loaded.project);
    await rangeStore.clear(transaction, organizationId, backupId);
    const destination = loaded.destinations.get(completed.storageDestinationId);
    const ended = { ...loaded, row: completed, destination };
    // All ten progress events are emitted, however quick the backup was.
    const done = { documents: completed.documentsDone, bytes: completed.bytesDone };
    const progress = progressEvents(ended, { sent: row.percentTold, reached: 100 }, done);
    await outbox.emitAll(transaction, [...progress, backupEvent('backup.completed', ended)]);
    await context.onEnded(transaction, ended);
    const { documents, plainBytes: bytes } = written.body.counts;
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'backup.completed',
      resource: { type: 'backup', id: backupId },
      details: { projectId: row.projectId, documents, bytes },
    });
  });
}

function completedColumns(
  loaded: LoadedBackup,
  { written, goodCopies, ranges = [], change = {} }: Completion,
  now: Date,
): Partial<NewBackup> {
  const { row, destinations } = loaded;
  const { body } = written;
  const isGood = goodCopies.includes(row.storageDestinationId);
  const lockDays = goodCopies.flatMap((id) => destinations.get(id)?.objectLock?.days ?? []);
  return {
    status: 'completed',
    phase: 'Completed',
    percent: 100,
    percentTold: 100,
    waitingFor: null,
    completedAt: now,
    updatedAt: now,
    storageDestinationId: isGood ? row.storageDestinationId : (goodCopies[0] ?? row.storageDestinationId),
    documentCount: body.counts.documents,
    changeCount: changesOf(body),
    documentsDone: Math.max(row.documentsDone, body.counts.puts),
    size: body.counts.plainBytes,
    bytesDone: body.counts.plainBytes,
    compressedSize: written.storedBytes,
    collectionCount: body.collections.length,
    sha256: written.manifestSha256,
    readsUsed: row.readsUsed + ranges.reduce((sum, range) => sum + range.reads, 0),
    snapshots: snapshotShares(body, ranges.length > 0 ? (range) => ranges[range]?.state?.documents ?? 0 : undefined),
    warnings: warningsOf(loaded, body, goodCopies),
    lockedUntil: lockDays.length > 0 ? later(now, Math.max(...lockDays) * dayMs) : null,
    plan: null,
    collectionCounts: largeCollections(body.collections),
    ...change,
  };
}

function warningsOf({ copies }: LoadedBackup, { warnings }: ManifestBody, goodCopies: readonly string[]): string[] {
  const failed = copies.filter((copy) => !goodCopies.includes(copy.storageDestinationId));
  const lost = failed.map(({ storageDestinationId, error }) =>
    warning('COPY_FAILED', `The copy in ${storageDestinationId} failed: ${error?.message ?? 'unknown reason'}`),
  );
  return [...warnings, ...lost].map((text) => text.slice(0, warningLengthMax));
}

/** Only large collections are kept: they are enough to notice that one shrank. */
function largeCollections(collections: ManifestBody['collections']): Record<string, number> {
  const large = collections.filter(({ documents }) => documents > largeFromDocuments);
  const largest = large.toSorted((left, right) => right.documents - left.documents).slice(0, collectionsCountedMax);
  return Object.fromEntries(largest.map(({ path, documents }) => [path, documents]));
}
