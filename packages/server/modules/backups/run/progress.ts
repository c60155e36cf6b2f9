import { isEngineError } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { tellBackup } from '../backup-events.ts';
import { type BackupRow, backupStore, rangeStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { loadBackup } from '../load-backup.ts';

/** Whether the backup goes on, and if not, why. */
export type Standing = 'going-on' | 'ended' | 'late' | 'over-budget';

/** Another worker holds the work now, or the backup has ended: stop without a word. */
export class Superseded extends Error {}

/** The part of the way that is reading; the rest is the manifest. */
const readingShare = 0.98;

/** Adds up the ranges, or takes what a backup without ranges has done, shows it, and tells each tenth once. */
export async function reportProgress(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  figures?: Figures,
): Promise<Standing> {
  const { database, clock, outbox } = context.platform;
  return database.tenant(organizationId, async (transaction) => {
    const found = await backupStore.find(transaction, organizationId, backupId);
    if (found?.status !== 'running') return 'ended';
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (!loaded) return 'ended';
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (row.status !== 'running') return 'ended';
    const totals = figures ?? (await rangeStore.totals(transaction, organizationId, backupId));
    const share = totals.documents / Math.max(1, row.documentsExpected ?? 1);
    const percent = Math.max(row.percent, Math.min(99, Math.floor(100 * readingShare * Math.min(1, share))));
    const percentTold = Math.max(row.percentTold, Math.floor(percent / 10) * 10);
    const updated = await backupStore.update(transaction, organizationId, backupId, {
      percent,
      percentTold,
      documentsDone: totals.documents,
      bytesDone: totals.bytes,
      updatedAt: clock.now(),
    });
    for (let tenth = row.percentTold + 10; tenth <= percentTold; tenth += 10) {
      await tellBackup(
        outbox,
        transaction,
        'backup.progress',
        { ...loaded, row: updated },
        { percent: tenth, documents: totals.documents, bytes: totals.bytes },
      );
    }
    if (row.deadlineAt && row.deadlineAt <= clock.now()) return 'late';
    const budget = loaded.project.maxReadsPerBackup;
    return budget !== null && totals.reads > budget * 1.1 + 1000 ? 'over-budget' : 'going-on';
  });
}

export interface Figures {
  documents: number;
  bytes: number;
  reads: number;
}

const lookEveryMs = 1000;

/** Looks every second whether the backup is still wanted, and shows how far it is. The signal says when it is not. */
export function keepWatch(
  context: BackupsContext,
  { organizationId, id }: Pick<BackupRow, 'organizationId' | 'id'>,
  figures?: Figures,
): { signal: AbortSignal; end(): void } {
  const stop = new AbortController();
  let isBusy = false;
  const look = async () => {
    if (isBusy || stop.signal.aborted) return;
    isBusy = true;
    try {
      const standing = await reportProgress(context, organizationId, id, figures);
      if (standing === 'ended') stop.abort(new Superseded('the backup has ended'));
      if (standing === 'late') stop.abort(tooLate());
    } catch (error) {
      context.platform.log.debug({ err: error, backupId: id }, 'progress could not be shown');
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  return { signal: stop.signal, end: () => clearInterval(timer) };
}

export function tooLate(): Problem {
  return new Problem('BACKUP_TIMEOUT', 'The backup took longer than the project allows.');
}

/** Why work was stopped, where the engine only says that it was. */
export function reasonOf(error: unknown): unknown {
  return isEngineError(error, 'CANCELLED') && error.cause instanceof Error ? error.cause : error;
}
