import { instantDigits, logSegmentsPrefix } from '@holdfast/engine';
import type { PitrContext } from '../context.ts';
import { openLog } from '../log-access.ts';
import type { LogRow } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';

/**
 * Whether storage holds captured time after the end of a log that the catalogue does not know, because the database was
 * restored from an older copy or another server went on capturing.
 */
export async function holdsUnknownLaterTime(context: PitrContext, row: LogRow, signal: AbortSignal): Promise<boolean> {
  const { logId, organizationId, startedFrom, coveredThrough } = row;
  const { known, last } = await context.backups.platform.database.tenant(organizationId, async (transaction) => ({
    known: await segmentStore.keys(transaction, logId),
    last: await segmentStore.last(transaction, logId),
  }));
  const log = await openLog(context, row);
  try {
    const prefix = logSegmentsPrefix(logId);
    const startAfter = `${prefix}${instantDigits(last?.coveredThrough ?? startedFrom)}`;
    const keys: string[] = [];
    for await (const { key } of log.store.list(prefix, { startAfter, signal })) if (!known.has(key)) keys.push(key);
    for await (const segment of log.reader.describe({ keys, signal }))
      if (segment.coveredThrough > coveredThrough) return true;
    return false;
  } finally {
    await log.close();
  }
}
