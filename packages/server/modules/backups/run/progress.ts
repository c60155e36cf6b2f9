import { Problem } from '../../../platform/problem.ts';
import { admissionOf, Superseded } from '../../jobs/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { progressEvents } from '../events/backup-events.ts';
import { loadBackup } from '../load-backup.ts';
import { organizationDeleted } from './backup-admission-store.ts';
import { rangeStore } from './range-store.ts';

export interface Figures {
  documents: number;
  bytes: number;
  reads: number;
}

/** Reading is this share of the progress; the rest is the manifest. */
const readingShare = 0.98;
/** Documents read twice, after a worker died, may exceed the budget by a little. */
const budgetSlackShare = 0.1;
const budgetSlackReads = 1000;

/**
 * Saves and reports the progress: the sum of the ranges, or the given figures of a backup without ranges. Emits one
 * event per tenth. Returns the reason when the work has to stop.
 */
export async function reportProgress(
  context: BackupsContext,
  before: Pick<BackupRow, 'organizationId' | 'id' | 'admittedAt'>,
  { figures, waitingFor }: { figures?: Figures | undefined; waitingFor?: string | null | undefined } = {},
): Promise<Error | undefined> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, id: backupId } = before;
  return database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    const row = loaded && (await backupStore.findLocked(transaction, organizationId, backupId));
    if (!loaded || row?.status !== 'running' || admissionOf(row) !== admissionOf(before))
      return new Superseded('the backup has ended');
    const totals: Figures & { open?: number } =
      figures ?? (await rangeStore.totals(transaction, organizationId, backupId));
    const percent = Math.max(row.percent, percentOf(totals.documents, row.documentsExpected));
    const percentTold = Math.max(row.percentTold, Math.floor(percent / 10) * 10);
    const updated = await backupStore.update(transaction, organizationId, backupId, {
      percent,
      percentTold,
      documentsDone: totals.documents,
      bytesDone: totals.bytes,
      waitingFor: waitingFor === undefined ? stillWaiting(row, totals) : waitingFor,
      updatedAt: clock.now(),
    });
    const steps = { sent: row.percentTold, reached: percentTold };
    await outbox.emitAll(transaction, progressEvents({ ...loaded, row: updated }, steps, totals));
    if (row.deadlineAt && row.deadlineAt <= clock.now()) return timeoutProblem(row);
    const isReading = (totals.open ?? 0) > 0;
    return isReading && isOverBudget(loaded.project.maxReadsPerBackup, totals.reads) ? overBudget() : undefined;
  });
}

/** A backup that made progress waits no longer. A range that still waits reports that itself. */
function stillWaiting(row: BackupRow, { documents, bytes }: Figures): string | null {
  return documents > row.documentsDone || bytes > row.bytesDone ? null : row.waitingFor;
}

function percentOf(documents: number, expected: number | null): number {
  const share = Math.min(1, documents / Math.max(1, expected ?? 1));
  return Math.min(99, Math.floor(100 * readingShare * share));
}

function isOverBudget(budget: number | null, reads: number): boolean {
  return budget !== null && reads > budget * (1 + budgetSlackShare) + budgetSlackReads;
}

export function timeoutProblem({ waitingFor }: Pick<BackupRow, 'waitingFor'>): Problem {
  if (waitingFor === organizationDeleted)
    return new Problem(
      'BACKUP_TIMEOUT',
      'The organization was deleted while this backup was made, and recovered when its time was over.',
    );
  return new Problem('BACKUP_TIMEOUT', 'The backup took longer than the project allows.');
}

function overBudget(): Problem {
  return new Problem('READ_BUDGET_EXCEEDED', 'The backup has spent the reads the project allows.');
}
