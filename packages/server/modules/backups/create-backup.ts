import type { BodyOf, DataOf, Operations } from '@holdfast/contract';
import { everything } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import type { OrganizationAccess, Principal, RequestOrigin } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { actorOf } from '../audit/index.ts';
import { toProblem } from '../job-error.ts';
import {
  aggregationReads,
  documentBytesGuess,
  type ProjectRow,
  projectStore,
  readCost,
  readSeconds,
} from '../projects/index.ts';
import { storageStore } from '../storage/index.ts';
import { type BackupRow, backupStore, type NewBackup } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { admitBackups } from './run/admission.ts';
import { openNewestChain } from './run/merge-backup.job.ts';
import { scopeOf } from './run/plan-backup.job.ts';
import { bytesPerDocument } from './statistics.ts';

export type CreateBackupRequest = BodyOf<Operations['createBackup']>;
type DryRun = Extract<DataOf<Operations['createBackup']>, { dryRun: true }>;

export interface Caller {
  organization: OrganizationAccess;
  principal: Principal;
  origin: RequestOrigin;
}

/** Writes the backup as pending, with its audit row; the admission lets it run when its turn comes. */
export async function createBackup(
  context: BackupsContext,
  caller: Caller,
  request: CreateBackupRequest,
): Promise<BackupRow> {
  if (request.retention !== undefined) throw invalid('retention', 'is not served yet');
  const { organization, principal } = caller;
  const { database } = context.platform;
  const row = await database.tenant(organization.id, async (transaction) => {
    const project = await projectStore.get(transaction, organization.id, request.projectId);
    const destinationIds = await destinationsOf(context, transaction, organization.id, request);
    if (request.type === 'synthetic') await requireSomethingToMerge(transaction, organization.id, project.id);
    const inserted = await backupStore.insert(
      transaction,
      newBackup(context, organization.id, project, request, destinationIds[0] as string, principal),
      destinationIds,
    );
    await context.audit.write(transaction, {
      organizationId: organization.id,
      action: 'backup.created',
      actor: actorOf(principal),
      resource: { type: 'backup', id: inserted.id },
      origin: caller.origin,
      details: { projectId: project.id, type: request.type, storageDestinationIds: destinationIds },
    });
    return inserted;
  });
  await admitBackups(context.platform);
  return row;
}

/** One that is still being made counts: the merge waits for its turn behind it. */
async function requireSomethingToMerge(
  { client }: Transaction,
  organizationId: string,
  projectId: string,
): Promise<void> {
  const { rowCount } = await client.query(
    `select 1 from backups where organization_id = $1 and project_id = $2 and deleted_at is null
        and status in ('pending', 'running', 'completed') and trigger <> 'pre_restore' limit 1`,
    [organizationId, projectId],
  );
  if (rowCount === 0)
    throw new Problem('INVALID_STATE', 'The project has no backup yet that could be merged; take a full one first.');
}

function newBackup(
  context: BackupsContext,
  organizationId: string,
  project: ProjectRow,
  request: CreateBackupRequest,
  destinationId: string,
  principal: Principal,
): NewBackup {
  const now = context.platform.clock.now();
  return {
    id: context.platform.ids.next('bkp'),
    organizationId,
    projectId: project.id,
    type: request.type,
    status: 'pending',
    trigger: principal.kind === 'key' ? 'api' : 'manual',
    collections: request.collections,
    excludeCollections: request.excludeCollections,
    includeSubcollections: request.includeSubcollections,
    includeAuthUsers: request.includeAuthUsers ?? project.includeAuthUsers,
    storageDestinationId: destinationId,
    retentionDays: request.retention ?? null,
    phase: 'Waiting',
    createdAt: now,
    updatedAt: now,
  };
}

/** The destinations that are named, else the organization's default. Each must exist; one that is failing at present may still be meant. */
export async function destinationsOf(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  request: { storageDestinationId?: string | undefined; storageDestinationIds?: string[] | undefined },
): Promise<string[]> {
  const named =
    request.storageDestinationIds ?? (request.storageDestinationId === undefined ? [] : [request.storageDestinationId]);
  if (named.length > 0) {
    const unique = [...new Set(named)];
    for (const id of unique) await storageStore.get(transaction, organizationId, id);
    return unique;
  }
  const organization = await context.organizations.active(transaction, organizationId);
  const fallback = organization?.defaultStorageId;
  if (!fallback || !(await storageStore.find(transaction, organizationId, fallback))) {
    throw invalid('storageDestinationId', 'is required, because the organization has no default storage destination');
  }
  return [fallback];
}

/** What the backup would take. Counts are exact, by aggregation; nothing is changed. */
export async function dryRunBackup(
  context: BackupsContext,
  organizationId: string,
  request: CreateBackupRequest,
  signal: AbortSignal,
): Promise<DryRun> {
  if (request.type === 'synthetic') return dryRunMerge(context, organizationId, request, signal);
  const { database } = context.platform;
  const { project, size } = await database.tenant(organizationId, async (transaction) => {
    await destinationsOf(context, transaction, organizationId, request);
    return {
      project: await projectStore.get(transaction, organizationId, request.projectId),
      size: (await bytesPerDocument(transaction, organizationId, request.projectId)) ?? documentBytesGuess,
    };
  });
  try {
    const firestore = await context.sources.open(project);
    try {
      const readTime = await firestore.source.snapshotTime({ signal });
      const scope = scopeOf(request);
      const documentCount = await firestore.source.count(everything, { scope, readTime, signal });
      const paths =
        scope.collections === 'all' ? await rootCollections(firestore.source, readTime, signal) : scope.collections;
      const collections: DryRun['collections'] = [];
      for (const path of paths.filter((root) => !scope.excludeCollections.includes(root))) {
        const ofIt = { ...scope, collections: [path], includeSubcollections: scope.includeSubcollections };
        const counted = await firestore.source.count(everything, { scope: ofIt, readTime, signal });
        collections.push({ path, documentCount: counted, estimatedBytes: Math.ceil(counted * size) });
      }
      const estimatedReads = documentCount + aggregationReads(documentCount);
      return {
        dryRun: true,
        collections,
        documentCount,
        estimatedBytes: Math.ceil(documentCount * size),
        estimatedReads,
        estimatedCost: readCost(estimatedReads),
        currency: 'USD',
        estimatedDurationSeconds: readSeconds(estimatedReads),
      };
    } finally {
      await firestore.close();
    }
  } catch (error) {
    throw toProblem(error);
  }
}

/** A merge reads storage alone: what it will hold is known exactly, and the source is asked nothing. */
async function dryRunMerge(
  context: BackupsContext,
  organizationId: string,
  request: CreateBackupRequest,
  signal: AbortSignal,
): Promise<DryRun> {
  const { database, ids } = context.platform;
  await database.tenant(organizationId, async (transaction) => {
    await destinationsOf(context, transaction, organizationId, request);
    await projectStore.get(transaction, organizationId, request.projectId);
    await requireSomethingToMerge(transaction, organizationId, request.projectId);
  });
  try {
    const asked = { ...request, organizationId, id: ids.next('bkp') };
    const { chain } = await openNewestChain(context, asked, signal);
    const { collections, counts } = chain.readers.at(-1)!.body;
    await chain.close();
    const roots = new Map<string, number>();
    for (const { path, documents } of collections) {
      const root = path.split('/')[0] as string;
      roots.set(root, (roots.get(root) ?? 0) + documents);
    }
    const bytes = chain.readers.reduce((sum, { body }) => sum + body.counts.plainBytes, 0);
    const share = bytes / Math.max(1, counts.documents);
    return {
      dryRun: true,
      collections: [...roots].map(([path, documentCount]) => ({
        path,
        documentCount,
        estimatedBytes: Math.ceil(documentCount * share),
      })),
      documentCount: counts.documents,
      estimatedBytes: bytes,
      estimatedReads: 0,
      estimatedCost: 0,
      currency: 'USD',
      estimatedDurationSeconds: readSeconds(counts.documents),
    };
  } catch (error) {
    throw toProblem(error);
  }
}

async function rootCollections(
  source: {
    listCollectionIds(path: string, options: { readTime: string; signal: AbortSignal }): AsyncIterable<string>;
  },
  readTime: string,
  signal: AbortSignal,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of source.listCollectionIds('', { readTime, signal })) ids.push(id);
  return ids;
}
