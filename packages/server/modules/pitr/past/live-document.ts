import { readRecords, recordKind } from '@holdfast/engine';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';

/** The live database as it is now, one document at a time. */
export interface LiveDatabase {
  readonly readTime: string;
  get(path: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export async function openLive(
  context: PitrContext,
  organizationId: string,
  projectId: string,
  signal: AbortSignal,
): Promise<LiveDatabase> {
  const project = await context.backups.platform.database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, projectId),
  );
  const { source, close } = await context.backups.sources.open(project);
  try {
    const readTime = await source.snapshotTime({ signal });
    const get = async (path: string) => {
      if (!isDocumentPath(path)) return undefined;
      for await (const batch of source.fetch([path], { readTime, signal }))
        for (const { kind, body } of readRecords(batch, source.database)) if (kind === recordKind.put) return body;
      return undefined;
    };
    return { readTime, get, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** An even number of segments, none of them empty. */
export function isDocumentPath(path: string): boolean {
  const segments = path.split('/');
  return segments.length % 2 === 0 && segments.every((segment) => segment !== '');
}
