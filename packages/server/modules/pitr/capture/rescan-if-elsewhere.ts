import { isEngineError } from '@holdfast/engine';
import { admitTasks, requestRescan } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import type { OpenedLog } from '../log-access.ts';
import type { SegmentRow } from '../segment-store.ts';

/**
 * A destination may have become another bucket, or be the former one again. When the newest segment does not lie there
 * as the catalogue says, a rescan compares all of it: without that, nothing captured from now on could be read, and
 * nobody would know.
 */
export async function rescanIfElsewhere(
  { backups }: PitrContext,
  last: SegmentRow | undefined,
  { store, destination }: OpenedLog,
  signal: AbortSignal,
): Promise<void> {
  if (!last) return;
  const isLost = last.gap?.lost !== undefined;
  try {
    const isThere = (await store.head(last.key, { signal })) !== undefined;
    if (isThere !== isLost) return;
  } catch (error) {
    // Capture tries the same storage, and says so if it does not answer.
    if (!isEngineError(error) || signal.aborted) throw error;
    return;
  }
  const { id: destinationId, organizationId } = destination;
  backups.platform.log.warn({ destinationId, logId: last.logId }, 'a log does not lie where it should; rescanned');
  await backups.platform.database.tenant(organizationId, (transaction) =>
    requestRescan(backups, transaction, destination),
  );
  await admitTasks(backups.platform);
}
