import { type BlobStore, backupsPrefix } from '@holdfast/engine';
import type { Database } from '../../platform/database/database.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import type { RunningJob } from '../../platform/queue.ts';
import { toJobError } from '../job-error.ts';
import { checkStorage, recordCheck, type StorageCheck } from './check-storage.ts';
import type { StorageContext } from './context.ts';
import { type DestinationRow, storageStore } from './storage-store.ts';
import { checkStorageJob } from './storage-task.ts';

const everyMs = 60_000;
const dueAfterMs = 10 * 60_000;
const checksPerRunMax = 100;
const lookTimeoutMs = 30_000;

/** An organization's default destination that does not work: its backups will fail until somebody mends it. */
export async function defaultsWork(database: Database): Promise<boolean> {
  return database.system(async ({ client }) => {
    const { rowCount } = await client.query(
      `select 1 from organizations o join storage_destinations d on d.id = o.default_storage_id
        where o.deleted_at is null and d.deleted_at is null and d.status = 'error' limit 1`,
    );
    return rowCount === 0;
  });
}

/** Asks for a look at every destination that nobody has looked at for a while, the longest-forgotten first. */
export function recheckTask({ platform: { database, queue, clock } }: StorageContext): PeriodicTask {
  return {
    name: 'recheck storage',
    everyMs,
    run: async () => {
      await database.system(async (transaction) => {
        const { rows } = await transaction.client.query<{ id: string; organization_id: string }>(
          `select d.id, d.organization_id from storage_destinations d join organizations o on o.id = d.organization_id
            where d.deleted_at is null and o.deleted_at is null and (d.last_checked_at is null or d.last_checked_at <= $1)
            order by d.last_checked_at nulls first limit $2`,
          [new Date(clock.now().getTime() - dueAfterMs), checksPerRunMax],
        );
        for (const { id, organization_id: organizationId } of rows)
          await queue.enqueue(transaction, checkStorageJob, { organizationId, storageDestinationId: id }, { key: id });
      });
    },
  };
}

/** A destination that worked is only looked at; one that did not has to pass the whole probe before it counts as mended. */
export async function recheckStorage(
  context: StorageContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, storageDestinationId } = job.data;
  const row = await database.tenant(organizationId, (transaction) =>
    storageStore.find(transaction, organizationId, storageDestinationId),
  );
  if (!row) return;
  const check = row.status === 'error' ? await checkStorage(context.stores, row, clock) : await look(context, row);
  await database.tenant(organizationId, async (transaction) => {
    const found = await storageStore.find(transaction, organizationId, storageDestinationId);
    if (!found) return;
    const locked = await storageStore.lock(transaction, organizationId, storageDestinationId);
    await recordCheck(context, transaction, locked, check);
  });
}

async function look(context: StorageContext, row: DestinationRow): Promise<Omit<StorageCheck, 'test'>> {
  const { clock } = context.platform;
  let store: BlobStore | undefined;
  try {
    store = await context.stores.open(row, { attemptsMax: 3 });
    for await (const _ of store.list(backupsPrefix, { signal: AbortSignal.timeout(lookTimeoutMs) })) break;
    return { status: 'connected', error: null, lastCheckedAt: clock.now() };
  } catch (error) {
    return { status: 'error', error: toJobError(error), lastCheckedAt: clock.now() };
  } finally {
    await store?.close();
  }
}
