import type { BackupRow, CapturedState } from '../../backups/index.ts';
import type { PitrContext } from '../context.ts';
import { pitrStore } from '../pitr-store.ts';
import { openPast } from './open-past.ts';

/** The end of a project's log, for a full backup of everything; undefined where nothing is captured or nothing reaches it. */
export async function capturedState(
  context: PitrContext,
  row: BackupRow,
  signal: AbortSignal,
): Promise<CapturedState | undefined> {
  const { organizationId, projectId, collections, excludeCollections } = row;
  if (collections[0] !== '*' || excludeCollections.length > 0) return undefined;
  const log = await context.backups.platform.database.tenant(organizationId, (transaction) =>
    pitrStore.find(transaction, organizationId, projectId),
  );
  if (!log?.enabled || log.position === null) return undefined;
  // Up to the last proof: what is made of it stays when the log is gone.
  const at = log.position.provedThrough;
  try {
    const { view, readers, instant, base, close } = await openPast(context, { organizationId, projectId, at, signal });
    return { view, readers, instant, documentCount: base.documentCount, close };
  } catch (error) {
    if ((error as { code?: string }).code === 'POINT_IN_TIME_UNAVAILABLE') return undefined;
    throw error;
  }
}
