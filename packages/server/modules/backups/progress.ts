import { tellBackup } from './backup-events.ts';
import { backupStore, rangeStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { loadBackup } from './load-backup.ts';

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
  figures?: { documents: number; bytes: number; reads: number },
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
