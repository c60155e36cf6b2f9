import { type ConnectedFirestore, connectFirestore, type View } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import type { DrillRow } from './drill-store.ts';
import { drillThread } from './drill-thread.ts';

export interface Scratch {
  firestore: ConnectedFirestore;
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A Firestore that exists only for this drill. */
export async function openScratch(view: View): Promise<Scratch> {
  const [, project = 'drill', , database = '(default)'] = view.database.split('/');
  const { scratch, address } = await drillThread.open();
  const firestore = connectFirestore({
    projectId: project,
    databaseId: database,
    connection: { type: 'emulator', host: address },
  });
  return {
    firestore,
    clear: () => drillThread.clear(scratch, { project, database }),
    close: async () => {
      await firestore.close();
      await drillThread.close(scratch);
    },
  };
}

export interface DrillTarget {
  project: ProjectRow;
  firestore: ConnectedFirestore;
}

export async function openDrillTarget(
  context: RestoresContext,
  { organizationId, targetProjectId }: Pick<DrillRow, 'organizationId'> & { targetProjectId: string },
): Promise<DrillTarget> {
  const project = await context.platform.database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, targetProjectId),
  );
  return { project, firestore: await context.sources.open(project) };
}

const collectionsNamedMax = 5;

/**
 * Throws unless the database is empty. A collection exists as long as it has documents or documents below it, so a
 * database without collections is empty.
 */
export async function requireEmpty(
  { project, firestore: { source } }: DrillTarget,
  signal: AbortSignal,
): Promise<void> {
  const readTime = await source.snapshotTime({ signal });
  const found: string[] = [];
  for await (const id of source.listCollectionIds('', { readTime, signal })) {
    found.push(id);
    if (found.length > collectionsNamedMax) break;
  }
  if (found.length === 0) return;
  const named =
    found.slice(0, collectionsNamedMax).join(', ') + (found.length > collectionsNamedMax ? ' and more' : '');
  throw new Problem(
    'INVALID_STATE',
    `The database of ${project.name} (${source.database}) is not empty, so no drill may write into it: it holds documents in ${named}.`,
    { details: { status: 'not_empty' } },
  );
}
