import { everything, wholeDatabase } from '@holdfast/engine';
import { answerWithinMs, inTime } from '../../in-time.ts';
import { toProblem } from '../../job-error.ts';
import { type CollectionView, nestCollections } from './nest-collections.ts';
import type { ConnectionFields, SourceOpener } from './open-source.ts';

/** The collections of the live database with their counts, as one consistent picture. */
export async function readCollections(
  sources: SourceOpener,
  project: ConnectionFields,
  signal: AbortSignal,
): Promise<CollectionView[]> {
  return asking(sources, project, async ({ source }) => {
    const readTime = await readTimeOf(source, signal);
    const counts = await source.collectionTree({ readTime, signal });
    return nestCollections(counts.map(({ documentCount, ...shape }) => ({ ...shape, documents: documentCount })));
  });
}

/** How many documents the live database has, exactly. */
export async function countDocuments(
  sources: SourceOpener,
  project: ConnectionFields,
  signal: AbortSignal,
): Promise<number> {
  return asking(sources, project, async ({ source }) => {
    const readTime = await readTimeOf(source, signal);
    return source.count(everything, { scope: wholeDatabase, readTime, signal });
  });
}

type Source = Awaited<ReturnType<SourceOpener['open']>>['source'];

/** The first request to a database, with a time limit; counting may take longer than this. */
export function readTimeOf(source: Source, gone: AbortSignal): Promise<string> {
  const ask = (signal: AbortSignal) => source.snapshotTime({ signal });
  return inTime(answerWithinMs, 'SOURCE_UNAVAILABLE', ask, gone);
}

async function asking<Result>(
  sources: SourceOpener,
  project: ConnectionFields,
  ask: (firestore: Awaited<ReturnType<SourceOpener['open']>>) => Promise<Result>,
): Promise<Result> {
  try {
    const firestore = await sources.open(project);
    try {
      return await ask(firestore);
    } finally {
      await firestore.close();
    }
  } catch (error) {
    throw toProblem(error);
  }
}
