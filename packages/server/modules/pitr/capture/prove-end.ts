import type { ConnectedFirestore, LogWriter } from '@holdfast/engine';
import type { PitrContext } from '../context.ts';
import { pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import type { Appender } from './append-batch.ts';

const unproved = 'Collections were found late, as capture was switched off: what was in them is not known.';

/**
 * Once capture is off, nobody checks for unknown collections any more, and soon nobody can. So the end of the log is
 * checked now; if that fails, the time since the last check becomes a gap.
 */
export async function proveEnd(
  context: PitrContext,
  { organizationId, lease }: Appender,
  { source }: Pick<ConnectedFirestore, 'source'>,
  writer: LogWriter,
  signal: AbortSignal,
): Promise<void> {
  const { database, clock, log } = context.backups.platform;
  const row = await database.tenant(organizationId, (transaction) =>
    pitrStore.find(transaction, organizationId, lease.projectId),
  );
  if (row?.epoch !== lease.epoch || row.enabled || row.position === null) return;
  const { position, coveredThrough: end } = row;
  if (position.provedThrough >= end) return;
  const isProved = await source.holdsOnly(position.collectionIds, { readTime: end, signal }).catch((error: unknown) => {
    log.warn({ err: error, projectId: row.projectId }, 'the end of a log could not be proved');
    return true;
  });
  if (isProved) return;
  const gap = { from: position.provedThrough, through: end, reason: unproved, deletionsUnknown: true as const };
  const proved = { records: null, coveredFrom: end, coveredThrough: end, marks: [], position, gap };
  const segment = await writer.append(proved);
  await database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lockLease(transaction, organizationId, lease);
    if (!segment || current?.coveredThrough !== end) return;
    const now = clock.now();
    await segmentStore.insert(transaction, current, segment, now);
    const change = { nextSequence: current.nextSequence + 1, updatedAt: now };
    await pitrStore.update(transaction, organizationId, current.projectId, change);
  });
}
