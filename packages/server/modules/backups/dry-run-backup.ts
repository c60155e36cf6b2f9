import type { DataOf, Operations } from '@holdfast/contract';
import { everything, type Scope, scopeContains } from '@holdfast/engine';
import { toProblem } from '../job-error.ts';
import {
  aggregationReads,
  documentBytesGuess,
  projectStore,
  readCost,
  readSeconds,
  readTimeOf,
} from '../projects/index.ts';
import { openNewestChain } from './contents/newest-chain.ts';
import type { BackupsContext } from './context.ts';
import { type CreateBackupRequest, destinationsOf, requireMergeable } from './create-backup.ts';
import { scopeOf } from './scope.ts';
import { bytesPerDocument } from './summaries/statistics-store.ts';

type DryRun = Extract<DataOf<Operations['createBackup']>, { dryRun: true }>;

/** What the backup would cost. Counts are exact, by aggregation; nothing is changed. */
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
      const readTime = await readTimeOf(firestore.source, signal);
      const scope = scopeOf(request);
      const documentCount = await firestore.source.count(everything, { scope, readTime, signal });
      const collections = await collectionsIn(firestore.source, scope, size, { readTime, signal });
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

/** A merge reads only storage, so its result is known exactly, and the source is not asked. */
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
    const bytes = chain.readers.reduce((sum, { body }) => sum + body.counts.plainBytes, 0);
    const share = bytes / Math.max(1, counts.documents);
    return {
      dryRun: true,
      collections: collections
        .slice(0, collectionsMax)
        .map(({ path, documents }) => entryOf({ path, documentCount: documents, isSampled: false }, share)),
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

type Source = Awaited<ReturnType<BackupsContext['sources']['open']>>['source'];
type Entry = DryRun['collections'][number];

/** As the contract bounds the answer. */
const collectionsMax = 10_000;

/** Counts every collection of the scope. A collection below a certain document is counted as a whole. */
async function collectionsIn(
  source: Source,
  scope: Scope,
  documentBytes: number,
  options: { readTime: string; signal: AbortSignal },
): Promise<Entry[]> {
  const named = scope.collections === 'all' ? [] : scope.collections;
  if (![...named, ...scope.excludeCollections].every(isShape)) return countNamed(source, scope, documentBytes, options);
  const roots = scope.collections === 'all' ? undefined : [...new Set(named.map(rootOf))];
  const tree = await source.collectionTree({ ...options, roots });
  const found = tree.filter(
    ({ path, documentCount }) => scopeContains(scope, `${path}/any`) && (documentCount > 0 || named.includes(path)),
  );
  const missing = named.filter((path) => !found.some((one) => one.path === path));
  const empty = missing.map((path) => ({ path, documentCount: 0, isSampled: false }));
  return [...found, ...empty].slice(0, collectionsMax).map((one) => entryOf(one, documentBytes));
}

// Names no document: `users`, `users/*/orders`.
function isShape(collection: string): boolean {
  return collection.split('/').every((segment, index) => index % 2 === 0 || segment === '*');
}

function rootOf(collection: string): string {
  return collection.split('/')[0] as string;
}

async function countNamed(
  source: Source,
  scope: Scope,
  documentBytes: number,
  options: { readTime: string; signal: AbortSignal },
): Promise<Entry[]> {
  const paths = scope.collections === 'all' ? await rootCollections(source, options) : scope.collections;
  const entries: Entry[] = [];
  for (const path of paths.filter((root) => !scope.excludeCollections.includes(root))) {
    const documentCount = await source.count(everything, { scope: { ...scope, collections: [path] }, ...options });
    entries.push(entryOf({ path, documentCount, isSampled: false }, documentBytes));
  }
  return entries;
}

async function rootCollections(source: Source, options: { readTime: string; signal: AbortSignal }): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of source.listCollectionIds('', options)) ids.push(id);
  return ids;
}

function entryOf(
  { path, documentCount, isSampled }: { path: string; documentCount: number; isSampled: boolean },
  documentBytes: number,
): Entry {
  return { path, documentCount, estimatedBytes: Math.ceil(documentCount * documentBytes), sampled: isSampled };
}
