import { type BlobStore, logSegmentsPrefix } from '@holdfast/engine';
import type { PitrContext } from '../context.ts';
import { logLockName, openLog } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { isTimeCatalogued } from './orphan-logs.ts';

/**
 * Copies segments of a log from here to the place where the catalogue expects it, if they are missing there. That
 * happens when the log was moved and the database was then restored from an older copy. Returns how many were copied.
 */
export async function copyMissingSegments(
  context: PitrContext,
  { organizationId, projectId, logId, storageDestinationId }: LogRow,
  here: BlobStore,
  signal: AbortSignal,
): Promise<number> {
  const { database } = context.backups.platform;
  // Keeps the log from being removed there meanwhile.
  const release = await database.useLocks.hold([logLockName(logId, storageDestinationId)]);
  try {
    const found = await database.tenant(organizationId, async (transaction) => {
      const row = await pitrStore.find(transaction, organizationId, projectId);
      if (row?.logId !== logId || row.storageDestinationId !== storageDestinationId) return undefined;
      const known = await segmentStore.keys(transaction, logId);
      return { row, known, gaps: await segmentStore.gaps(transaction, logId) };
    });
    if (!found) return 0;
    const { row, known, gaps } = found;
    const isWanted = (key: string) => known.has(key) || !isTimeCatalogued(row, gaps, key);
    const home = await openLog(context, row);
    try {
      const there = await keysIn(home.store, logId, signal);
      let copied = 0;
      for (const key of await keysIn(here, logId, signal)) {
        if (there.has(key) || !isWanted(key)) continue;
        const content = await here.get(key, { signal });
        if (!(await home.reader.isWhole(key, content))) continue;
        await home.store.put(key, content, { ...home.put(), signal });
        copied += 1;
      }
      return copied;
    } finally {
      await home.close();
    }
  } finally {
    await release();
  }
}

async function keysIn(store: BlobStore, logId: string, signal: AbortSignal): Promise<Set<string>> {
  const keys = new Set<string>();
  for await (const { key } of store.list(logSegmentsPrefix(logId), { signal })) keys.add(key);
  return keys;
}
