import type { DataOf, Operations } from '@holdfast/contract';
import { everything } from '@holdfast/engine';
import { toProblem } from '../job-error.ts';
import { aggregationReads, documentBytesGuess, projectStore, readCost, readSeconds } from '../projects/index.ts';
import { openNewestChain } from './contents/newest-chain.ts';
import type { BackupsContext } from './context.ts';
import { type CreateBackupRequest, destinationsOf, requireMergeable } from './create-backup.ts';
import { scopeOf } from './scope.ts';
import { bytesPerDocument } from './summaries/statistics-store.ts';

type DryRun = Extract<DataOf<Operations['createBackup']>, { dryRun: true }>;

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
        estimatedDurationSeconds: readSeconds(estimatedReads, project.readRateLimit),
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
    await requireMergeable(transaction, organizationId, request.projectId);
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
      estimatedDurationSeconds: readSeconds(counts.documents, null),
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
