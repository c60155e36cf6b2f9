import type { ChangeBatch, LogSegment } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { Superseded } from '../../jobs/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import { type DestinationRow, storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { hasSameSettings } from '../log-access.ts';
import { changesCaptured } from '../pitr-events.ts';
import { type Lease, type LogRow, type NewLog, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import type { UntoldChanges } from '../tables.ts';
import { reportMassDeletion } from '../upkeep/mass-deletion.ts';
import { NothingToCapture } from './nothing-to-capture.ts';

/** At most one event in this time per project. */
const eventEveryMs = minuteMs;
const collectionsNamedMax = 100;
/** After a gap, the log is compared with the database within this time. */
const reconcileAfterGapMs = 5 * minuteMs;

export interface Appender {
  readonly organizationId: string;
  readonly lease: Lease;
  readonly project: ProjectRow;
  /** As it was when the log was opened. */
  readonly destination: DestinationRow;
}

/**
 * Records a batch in one transaction: the segment, the covered time, the event. Refused when the lease has a newer
 * epoch.
 */
export async function appendBatch(
  context: PitrContext,
  { organizationId, lease, project, destination }: Appender,
  batch: ChangeBatch,
  segment: LogSegment | null,
  reads: number,
): Promise<void> {
  const { database, clock, outbox } = context.backups.platform;
  await database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.lockLease(transaction, organizationId, lease);
    // For a deleted organization nothing runs, and no reads are billed.
    if (!(await context.backups.organizations.active(transaction, organizationId)))
      throw new NothingToCapture('the organization is deleted');
    if (!row || row.coveredThrough !== batch.coveredFrom)
      throw new Superseded('another worker captures this project now');
    if (!hasSameSettings(destination, await storageStore.find(transaction, organizationId, destination.id)))
      throw new Superseded('the destination has changed; the log is opened anew');
    const now = clock.now();
    if (segment) await segmentStore.insert(transaction, row, segment, now);
    const untold = withSegment(row.untold, segment);
    const isTime = row.toldAt === null || now.getTime() - row.toldAt.getTime() >= eventEveryMs;
    const isDue = untold !== null && isTime;
    if (isDue) await outbox.emit(transaction, changesCaptured(project, untold));
    const change: Partial<NewLog> = {
      coveredThrough: batch.coveredThrough,
      position: batch.position,
      nextSequence: row.nextSequence + (segment ? 1 : 0),
      readsUsed: row.readsUsed + reads,
      untold: isDue ? null : untold,
      ...(isDue ? { toldAt: now } : {}),
      ...(batch.gap && !batch.gap.isQuiet && !batch.gap.isBrief
        ? { reconcileDueAt: soonest(row.reconcileDueAt, now.getTime() + reconcileAfterGapMs) }
        : {}),
      // A scan replaces streams that break. Only a batch that was listened to shows that they work again.
      ...(batch.isScanned ? {} : { error: null, failures: 0 }),
      updatedAt: now,
    };
    const updated = await pitrStore.update(transaction, organizationId, row.projectId, change);
    if (row.failures > 0 && !batch.isScanned) await noteWorking(context, transaction, organizationId, row.projectId);
    if (segment && segment.deletes > 0)
      await reportMassDeletion(context, transaction, updated as LogRow, project, segment);
  });
}

async function noteWorking(
  context: PitrContext,
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<void> {
  await context.troubles.end(transaction, organizationId, ['pitr.stopped'], projectId);
  const project = await projectStore.findKept(transaction, organizationId, projectId);
  if (project) await context.backups.projects.markWorking(transaction, project);
}

function soonest(due: Date | null, otherMs: number): Date {
  return due !== null && due.getTime() < otherMs ? due : new Date(otherMs);
}

function withSegment(untold: UntoldChanges | null, segment: LogSegment | null): UntoldChanges | null {
  if (segment === null || segment.changes === 0) return untold;
  const collections = new Set([...(untold?.collections ?? []), ...Object.keys(segment.collections)]);
  return {
    count: (untold?.count ?? 0) + segment.changes,
    from: untold?.from ?? segment.coveredFrom,
    to: segment.coveredThrough,
    collections: [...collections].slice(0, collectionsNamedMax),
  };
}
