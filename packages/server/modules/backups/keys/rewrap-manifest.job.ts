import { deleteBackup, replaceEnvelope } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { isWithoutCredentials, storageStore } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import type { MovedFrom } from '../jobs.ts';
import { loadBackup } from '../load-backup.ts';
import { liesWholeIn } from '../storage/prove-copy.ts';

/** Brings the manifests in the destinations under the envelope that the catalogue has since a rotation or a move. */
export async function rewrapManifest(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; backupId: string; movedFrom?: MovedFrom | undefined }>,
): Promise<void> {
  const { database } = context.platform;
  const { organizationId, backupId } = job.data;
  for (let done: string | undefined; ; ) {
    const loaded = await database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, backupId),
    );
    const envelope = loaded?.row.envelope;
    if (!loaded || !envelope || loaded.row.deletedAt) return;
    // A backup that is being made may have taken the envelope of before; its manifest is looked at once it is there.
    if (loaded.row.status !== 'completed') throw new Error('the backup has no manifest yet');
    if (envelope.wrapped === done) break;
    const { ring } = await database.tenant(organizationId, (transaction) =>
      context.keys.ring(transaction, organizationId),
    );
    const dataKey = await ring.unwrap(backupId, envelope);
    for (const copy of loaded.copies.filter(({ status }) => status === 'completed')) {
      const destination = loaded.destinations.get(copy.storageDestinationId);
      // One that came with a moved project has none yet; once it has, its manifests are looked at again.
      if (!destination || isWithoutCredentials(destination)) continue;
      const store = await context.stores.open(destination);
      try {
        await replaceEnvelope(store, backupId, { dataKey, envelope }, { signal: job.signal });
      } finally {
        await store.close();
      }
    }
    // Another rotation may have come in between; then it is this job that follows it, because only one waits per backup.
    done = envelope.wrapped;
  }
  if (job.data.movedFrom) await removeFromOldFolders(context, job.data, job.data.movedFrom, job.signal);
}

/** What a moved backup left in local folders of the organization it came from, once it reads whole in its new place. */
async function removeFromOldFolders(
  context: BackupsContext,
  { organizationId, backupId }: { organizationId: string; backupId: string },
  from: MovedFrom,
  signal: AbortSignal,
): Promise<void> {
  const { database } = context.platform;
  const [rows, copies] = [
    await database.tenant(from.organizationId, (transaction) =>
      storageStore.many(transaction, from.organizationId, from.storageDestinationIds),
    ),
    await database.tenant(organizationId, (transaction) => backupStore.copies(transaction, organizationId, [backupId])),
  ];
  const folders = rows.filter(({ type }) => type === 'local');
  const places = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
  if (folders.length === 0) return;
  if (!(await liesWholeIn(context, organizationId, places, backupId, { signal, isThorough: true }))) return;
  for (const folder of folders) {
    const store = await context.stores.open(folder);
    await deleteBackup(store, backupId, { signal }).finally(() => store.close());
  }
}
