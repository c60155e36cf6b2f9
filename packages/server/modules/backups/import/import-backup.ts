import type { BodyOf, Operations } from '@holdfast/contract';
import type { BackupReader, BlobStore } from '@holdfast/engine';
import { type Transaction, violatedConstraint } from '../../../platform/database/database.ts';
import { findEarlierResult } from '../../../platform/earlier-result.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import { databaseName, type ProjectRow, projectStore } from '../../projects/index.ts';
import { type DestinationRow, storageStore, withStore } from '../../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from '../backup-store.ts';
import { manifestColumns } from '../contents/manifest-columns.ts';
import { interactive } from '../contents/open-chain.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { admitBackups } from '../run/admission.ts';
import type { ImportRequest } from '../tables.ts';
import { warning } from '../warnings.ts';
import { asPathFault, inspectForeign, locateBackup, openLocated, requirePast } from './import-source.ts';

/** A person waits for the answer. */
const inspectTimeoutMs = 10_000;

type Request = BodyOf<Operations['importBackup']>;

/** Inspects the file at once, so that an obviously broken one is refused here. The job reads all of it later. */
export async function importBackup(
  context: BackupsContext,
  caller: Caller,
  request: Request,
  signal: AbortSignal,
): Promise<BackupRow> {
  const { database, ids } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'bkp', backupStore.findAny);
  if (made) return made;
  requirePast(request.metadata.createdAt, context.platform.clock);
  const { project, destination } = await database.tenant(organizationId, async (transaction) => ({
    project: await projectStore.get(transaction, organizationId, request.projectId),
    destination: await storageStore.get(transaction, organizationId, request.storageDestinationId),
  }));
  const seen = await inspect(
    context,
    project,
    destination,
    { ...request, id: ids.next('bkp', caller.origin.newId) },
    signal,
  );
  const row = await database
    .tenant(organizationId, async (transaction) => {
      await clearFailed(transaction, organizationId, seen.id);
      await storageStore.hold(transaction, organizationId, destination.id);
      const inserted = await backupStore.insert(transaction, newImport(context, caller, request, project, seen), [
        destination.id,
      ]);
      // The insert holds the project, so it can no longer be disconnected. While the file was inspected, it could.
      await projectStore.get(transaction, organizationId, project.id);
      const { path, metadata } = request;
      await context.audit.noteCaller(transaction, caller, {
        action: 'backup.import_started',
        resource: { type: 'backup', id: inserted.id },
        details: { projectId: inserted.projectId, path, source: metadata.source },
      });
      return inserted;
    })
    .catch((error: unknown) => {
      if (violatedConstraint(error)) throw new Problem('CONFLICT', 'This backup is registered already.');
      throw error;
    });
  await admitBackups(context.platform);
  return row;
}

/** A failed import in place leaves a record under the backup's own id; the next attempt replaces it. */
async function clearFailed(transaction: Transaction, organizationId: string, backupId: string): Promise<void> {
  const before = await backupStore.findAny(transaction, organizationId, backupId);
  const isSpent = before?.imported?.inPlace && (before.status === 'failed' || before.status === 'cancelled');
  if (isSpent) await backupStore.purge(transaction, organizationId, backupId);
}

interface Seen {
  id: string;
  imported: ImportRequest;
  facts: Partial<NewBackup>;
}

async function inspect(
  context: BackupsContext,
  project: ProjectRow,
  destination: DestinationRow,
  { id, path, metadata }: Request & { id: string },
  gone: AbortSignal,
): Promise<Seen> {
  const { source } = metadata;
  const late = AbortSignal.timeout(inspectTimeoutMs);
  const signal = AbortSignal.any([gone, late]);
  const look = async (store: BlobStore): Promise<Seen> => {
    if (source === 'holdfast') {
      const located = locateBackup(path);
      const keys = await BackupKeyRing.load(context, destination.organizationId);
      const reader = await openLocated(store, located, keys, context.engine.codec, signal);
      const imported = { path, source, inPlace: located.folder === '', ...ofOther(reader, project) };
      return { id: located.backupId, imported, facts: factsOf(reader, project, metadata.type) };
    }
    const { modifiedAt } = await inspectForeign(store, path, source, signal);
    const createdAt = metadata.createdAt ?? modifiedAt?.toISOString();
    const imported = { path, source, ...(createdAt ? { createdAt } : {}) };
    const facts = metadata.type === 'incremental' ? { warnings: [becameFull] } : {};
    return { id, imported, facts };
  };
  try {
    return await withStore(context.stores, destination, look, interactive);
  } catch (error) {
    if (late.aborted) throw new Problem('STORAGE_UNAVAILABLE', 'The storage did not answer in time.');
    throw toProblem(asPathFault(error, path));
  }
}

const becameFull = warning('BECAME_FULL', 'What was imported holds every document, so it is a full backup.');

/** Marks a backup of another database: it says nothing about how well this project is protected. */
function ofOther({ body }: BackupReader, project: ProjectRow): Pick<ImportRequest, 'ofDatabase'> {
  return body.database === databaseName(project) ? {} : { ofDatabase: body.database };
}

function factsOf({ body }: BackupReader, project: ProjectRow, said: 'full' | 'incremental'): Partial<NewBackup> {
  const foreign = warning(
    'FOREIGN_DATABASE',
    `The backup is of ${body.database}, not of the database of this project.`,
  );
  return {
    ...manifestColumns(body),
    createdAt: new Date(body.createdAt),
    warnings: [
      ...(body.database === databaseName(project) ? [] : [foreign]),
      ...(said === 'incremental' && body.type !== 'incremental' ? [becameFull] : []),
    ],
  };
}

function newImport(
  context: BackupsContext,
  caller: Caller,
  request: Request,
  project: ProjectRow,
  { id, imported, facts }: Seen,
): NewBackup {
  const now = context.platform.clock.now();
  return {
    id,
    organizationId: caller.organization.id,
    projectId: project.id,
    type: 'full',
    status: 'pending',
    trigger: caller.principal.kind === 'key' ? 'api' : 'manual',
    collections: ['*'],
    excludeCollections: [],
    includeSubcollections: true,
    includeAuthUsers: false,
    imported,
    storageDestinationId: request.storageDestinationId,
    phase: 'Waiting',
    createdAt: now,
    updatedAt: now,
    ...facts,
  };
}
