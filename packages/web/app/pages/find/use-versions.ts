import { type Backup, minuteMs } from '@holdfast/contract';
import { HoldfastError } from '@holdfast/contract/client';
import { useQuery } from '@tanstack/react-query';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import type { Fields } from '../../format/values.ts';

/** One version of a document as the backups know it. */
export interface Version {
  readonly id: string;
  /** When the document was last changed; for a missing one, when it was seen missing. */
  readonly at: string;
  readonly fields: Fields | null;
  /** The newest backup that holds this version. */
  readonly backup: Backup;
  readonly seenIn: number;
}

const backupsMax = 40;
const atOnce = 6;

/** Looks for the document in the newest backups of the project and gathers what it finds by update time. */
export function useVersions(projectId: string, path: string) {
  const { organization } = useWorkplace();
  return useQuery<{ versions: Version[]; lookedInto: number }, HoldfastError>({
    queryKey: [organization.id, 'versions', projectId, path],
    staleTime: minuteMs,
    queryFn: async ({ signal }) => {
      const client = clientFor(organization.id);
      const { data: backups } = await client.listBackups({
        query: { projectId, status: 'completed', limit: backupsMax },
        signal,
      });
      const found = await inBatches(backups, async (backup) => ({
        backup,
        document: await read(client, backup.id, path, signal),
      }));
      return { versions: gather(found), lookedInto: backups.length };
    },
  });
}

type Client = ReturnType<typeof clientFor>;

async function read(client: Client, backupId: string, path: string, signal: AbortSignal) {
  try {
    return await client.getBackupDocument({ params: { backupId, documentPath: path }, signal });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'DOCUMENT_NOT_FOUND') return null;
    throw error;
  }
}

async function inBatches<In, Out>(all: readonly In[], work: (one: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    done.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  return done;
}

type Found = { backup: Backup; document: Awaited<ReturnType<typeof read>> };

/** Newest first. Safety backups of single documents say nothing about documents they do not hold. */
function gather(found: readonly Found[]): Version[] {
  const versions: Version[] = [];
  for (const { backup, document } of found) {
    if (!document && backup.trigger === 'pre_restore') continue;
    const at = document?.updateTime ?? backup.snapshotTime ?? backup.createdAt;
    const last = versions.at(-1);
    const same = document
      ? versions.find((version) => version.fields && version.at === at)
      : last?.fields === null
        ? last
        : undefined;
    if (same) versions[versions.indexOf(same)] = { ...same, seenIn: same.seenIn + 1 };
    else
      versions.push({
        id: document ? at : `missing ${backup.id}`,
        at,
        fields: document?.fields ?? null,
        backup,
        seenIn: 1,
      });
  }
  const isNothing = versions.every(({ fields }) => fields === null);
  return isNothing ? [] : trimOldest(versions);
}

/** Before its first version the document had not been written yet: no news. */
function trimOldest(versions: Version[]): Version[] {
  const last = versions.at(-1);
  return last && last.fields === null ? trimOldest(versions.slice(0, -1)) : versions;
}
