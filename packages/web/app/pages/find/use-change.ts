import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useWorkplace } from '../../api/organization.tsx';
import { diffRows, type Fields } from '../../format/values.ts';
import { t } from '../../texts/index.ts';
import { fieldsQuery, type Version } from './use-versions.ts';

interface Asked {
  readonly projectId: string;
  readonly path: string;
  readonly version: Version;
  /** Null: there is none. Undefined: not loaded yet. */
  readonly before: Version | null | undefined;
  readonly isWanted: boolean;
}

/** What a version changed compared with the one before it; undefined until both are loaded. */
export function useChange({ projectId, path, version, before, isWanted }: Asked): string | undefined {
  const { organization } = useWorkplace();
  const queryOf = (of: Version | undefined) => {
    const query = fieldsQuery(organization.id, projectId, path, of);
    return { ...query, enabled: isWanted && of !== undefined };
  };
  const now = useQuery(queryOf(version)).data;
  const read = useQuery(queryOf(before ?? undefined)).data;
  const former = before === null ? null : read;
  const { change } = version;
  return useMemo(
    () => (now === undefined || former === undefined ? undefined : wordsOf(change, former, now)),
    [change, former, now],
  );
}

function wordsOf(change: Version['change'], before: Fields | null, now: Fields | null): string {
  if (now === null || change === 'deleted') return t.document.change.deleted;
  if (change === 'created') return t.document.createdWith(Object.keys(now).length);
  // The version before is unknown; it only differs.
  if (before === null) return t.document.change.changed;
  const rows = diffRows(before, now);
  const names = (wanted: (typeof rows)[number]['change']) =>
    rows.filter((row) => row.change === wanted).map(({ id }) => id.replaceAll('\0', '.'));
  return t.document.changes({ changed: names('changed'), added: names('added'), removed: names('removed') });
}
