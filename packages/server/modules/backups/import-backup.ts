import type { BodyOf, Operations } from '@holdfast/contract';
import { projectStore } from '../projects/index.ts';
import { storageStore } from '../storage/index.ts';
import { admitBackups } from './admission.ts';
import { type BackupRow, backupStore } from './backup-store.ts';
import { note } from './change-backup.ts';
import type { BackupsContext } from './context.ts';
import type { Caller } from './create-backup.ts';

type Request = BodyOf<Operations['importBackup']>;

/** Registers an existing file as a backup; the job that reads it registers nothing when it is broken. */
export async function importBackup(context: BackupsContext, caller: Caller, request: Request): Promise<BackupRow> {
  const { database, ids, clock } = context.platform;
  const organizationId = caller.organization.id;
  const row = await database.tenant(organizationId, async (transaction) => {
    const project = await projectStore.get(transaction, organizationId, request.projectId);
    const destination = await storageStore.get(transaction, organizationId, request.storageDestinationId);
    const now = clock.now();
    const { metadata, path } = request;
    const inserted = await backupStore.insert(
      transaction,
      {
        id: ids.next('bkp'),
        organizationId,
        projectId: project.id,
        type: metadata.type,
        status: 'pending',
        trigger: caller.principal.kind === 'key' ? 'api' : 'manual',
        collections: ['*'],
        excludeCollections: [],
        includeSubcollections: true,
        includeAuthUsers: false,
        imported: { path, source: metadata.source, ...(metadata.createdAt ? { createdAt: metadata.createdAt } : {}) },
        storageDestinationId: destination.id,
        phase: 'Waiting',
        createdAt: now,
        updatedAt: now,
      },
      [destination.id],
    );
    await note(context, transaction, caller, 'backup.import_started', inserted.id, { path, source: metadata.source });
    return inserted;
  });
  await admitBackups(context.platform);
  return row;
}
