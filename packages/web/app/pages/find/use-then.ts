import { minuteMs, type Restore } from '@holdfast/contract';
import { useQueries } from '@tanstack/react-query';
import { useEffect } from 'react';
import { keyOf, useAll } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import type { Fields } from '../../format/values.ts';
import { useSearch } from '../../url.ts';
import {
  backupOf,
  momentBroughtBack,
  overwriterOf,
  proposedVersion,
  type Return,
  restoreOf,
} from './proposed-version.ts';
import { fieldsQuery, type Version, versionAt, versionNamed } from './use-versions.ts';
import type { OlderVersions } from './version-list.tsx';

/** Versions older than these are not read to propose one. */
const comparedMax = 10;

interface Then {
  readonly then: Version | undefined;
  /** The moment given in the address. */
  readonly at: string | undefined;
  /** Still being determined. */
  readonly isOpen: boolean;
  /** The version of the address no longer exists; no other is shown instead. */
  readonly isLost: boolean;
}

interface Asked {
  readonly projectId: string;
  readonly path: string;
  readonly versions: readonly Version[];
  readonly older: OlderVersions;
  /** The live document, or its last known version. */
  readonly now: Fields | null | undefined;
}

/** The selected version: chosen, of the given moment, or proposed. */
export function useThen(asked: Asked): Then {
  const { versions, older } = asked;
  const [{ then: named, at }] = useSearch();
  const chosen = named === undefined ? undefined : versionNamed(versions, named);
  const atMoment = at === undefined ? undefined : versionAt(versions, at);
  const { hasMore, isLoadingMore, error, loadMore } = older;
  const isMissing = named === undefined ? at !== undefined && !atMoment : !chosen;
  const isOlder = isMissing && hasMore;
  useEffect(() => {
    if (isOlder && !isLoadingMore && error === null) loadMore();
  }, [isOlder, isLoadingMore, error, loadMore]);
  const proposed = useProposed(asked, named === undefined && at === undefined);
  if (named !== undefined) return { then: chosen, at: undefined, isOpen: isOlder, isLost: isMissing && !hasMore };
  return at === undefined
    ? { then: proposed, at, isOpen: proposed === undefined, isLost: false }
    : { then: atMoment, at, isOpen: isOlder, isLost: false };
}

function useProposed({ projectId, path, versions, now }: Asked, enabled: boolean): Version | undefined {
  const { organization } = useWorkplace();
  const compared = versions.slice(0, comparedMax + 1);
  const read = useQueries({
    queries: compared.map((version) => ({ ...fieldsQuery(organization.id, projectId, path, version), enabled })),
  });
  const returns = useReturns(projectId, path, compared, enabled);
  if (!enabled || !returns) return undefined;
  const fieldsAt = (place: number) => {
    const one = read[place];
    return one === undefined || one.isError ? 'unread' : one.data;
  };
  return proposedVersion(versions, { now, fieldsAt, ...returns });
}

/** What restores did to these versions; undefined while loading. */
function useReturns(projectId: string, path: string, versions: readonly Version[], enabled: boolean) {
  const { organization } = useWorkplace();
  const newestMs = Date.parse(versions[0]?.at ?? '1970-01-01');
  const query = {
    targetProjectId: projectId,
    to: new Date(newestMs + minuteMs).toISOString(),
    dryRun: false,
    limit: 50,
  };
  const list = useAll('listRestores', { query }, { enabled, everyMs: false });
  const isRead = !list.isPlaceholderData && (list.rows !== undefined || list.error !== null);
  const restores = list.rows ?? [];
  const written = new Map(versions.map((version) => [version.id, restoreOf(restores, version, path)]));
  const undone = new Map(versions.map((version) => [version.id, overwriterOf(restores, version)]));
  const concerned = new Set([...written.values(), ...undone.values()].filter((restore) => restore !== undefined));
  const backupIds = new Set([...concerned].flatMap((restore) => backupOf(restore, path)));
  const backups = useQueries({
    queries: [...backupIds].map((backupId) => {
      const input = { params: { backupId } };
      return {
        queryKey: keyOf(organization.id, 'getBackup', input),
        queryFn: ({ signal }: { signal: AbortSignal }) => clientFor(organization.id).getBackup({ ...input, signal }),
      };
    }),
  });
  if (!isRead || backups.some(({ isPending }) => isPending)) return undefined;
  const snapshots = new Map(backups.flatMap(({ data }) => (data ? [[data.id, data.snapshotTime]] : [])));
  const returnOf = (restore: Restore | undefined): Return | undefined =>
    restore && {
      to: momentBroughtBack(restore, path, restores, (id) => snapshots.get(id)),
      isMerge: restore.mergeMode !== 'overwrite',
    };
  return {
    writtenBy: ({ id }: Version) => returnOf(written.get(id)),
    undoneBy: ({ id }: Version) => returnOf(undone.get(id)),
  };
}
