import { type BlobStore, isEngineError, type KeyRing, listBackups, manifestKey, openChain } from '@holdfast/engine';
import type { DestinationRow, TaskResult, TaskRun } from '../../storage/index.ts';
import { requireComplete } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import { copyStore } from './copy-store.ts';
import { registerBackup } from './register-backup.ts';

const failuresMax = 100;

/**
 * Finds finished backups that lie in the destination and are not known, and registers them under their own ids. A project
 * that is not known either is made anew without a connection, so that its backups can be read and restored elsewhere.
 */
export async function rescanStorage(
  context: BackupsContext,
  { destination, signal, onProgress }: TaskRun,
): Promise<TaskResult> {
  const { database } = context.platform;
  const { organizationId } = destination;
  const { ring } = await database.tenant(organizationId, (transaction) =>
    context.keys.ring(transaction, organizationId),
  );
  const result = { found: 0, registered: 0, bytes: 0, failures: [] as { key: string; reason: string }[] };
  const fail = (backupId: string, reason: string) => {
    if (result.failures.length < failuresMax)
      result.failures.push({ key: manifestKey(backupId), reason: reason.slice(0, 2000) });
  };
  const store = await context.stores.open(destination);
  try {
    for await (const { backupId, body, problem } of listBackups(store, ring, context.engine.codec, { signal })) {
      result.found++;
      if (await database.system((transaction) => copyStore.isKnown(transaction, backupId))) continue;
      if (!body) {
        fail(backupId, problem?.message ?? 'cannot be read');
        continue;
      }
      try {
        await register(context, destination, store, backupId, ring, signal);
        result.registered++;
        result.bytes += body.counts.storedBytes;
      } catch (error) {
        const isBroken = isEngineError(error, 'INTEGRITY_ERROR') || isEngineError(error, 'DECRYPTION_ERROR');
        if (!isBroken) throw error;
        fail(backupId, error.message);
      }
      await onProgress(50, 'Registering', result.bytes);
    }
  } finally {
    await store.close();
  }
  return result;
}

async function register(
  context: BackupsContext,
  destination: DestinationRow,
  store: BlobStore,
  backupId: string,
  keys: KeyRing,
  signal: AbortSignal,
): Promise<void> {
  const chain = await openChain({ store, backupId, keys, codec: context.engine.codec, signal });
  const reader = chain.at(-1)!;
  await requireComplete(store, reader, signal);
  const { organizationId } = destination;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const project = await context.projects.adopt(transaction, organizationId, reader.body.database);
    const row = await registerBackup(context, transaction, destination, project.id, reader);
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'backup.registered',
      resource: { type: 'backup', id: row.id },
      details: { projectId: project.id, storageDestinationId: destination.id },
    });
  });
}
