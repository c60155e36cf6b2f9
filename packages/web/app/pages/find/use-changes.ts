import { useQueries } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useWorkplace } from '../../api/organization.tsx';
import { diffRows, type Fields } from '../../format/values.ts';
import { t } from '../../texts/index.ts';
import { fieldsQuery, type Version } from './use-versions.ts';

/** Each is read for itself: older ones say only that they changed. */
export const comparedMax = 10;

/** What each version changed against the one before it, in words; those that are not read yet are missing. */
export function useChanges(projectId: string, path: string, versions: readonly Version[], hasOlder: boolean) {
  const { organization } = useWorkplace();
  const compared = versions.slice(0, comparedMax + 1);
  const combine = useCallback(
    (answers: readonly { data: Fields | null | undefined }[]) =>
      new Map(
        compared.slice(0, comparedMax).flatMap((version, index): [string, string][] => {
          const isOldest = index === versions.length - 1;
          const [now, before] = [answers[index]?.data, isOldest && !hasOlder ? null : answers[index + 1]?.data];
          return now === undefined || before === undefined ? [] : [[version.id, wordsOf(version, before, now)]];
        }),
      ),
    [compared, versions.length, hasOlder],
  );
  return useQueries({
    queries: compared.map((version) => fieldsQuery(organization.id, projectId, path, version)),
    combine,
  });
}

function wordsOf({ change }: Version, before: Fields | null, now: Fields | null): string {
  if (now === null || change === 'deleted') return t.document.change.deleted;
  if (change === 'created') return t.document.createdWith(Object.keys(now).length);
  // What stood there before is not known: only that it was another.
  if (before === null) return t.document.change.changed;
  const rows = diffRows(before, now);
  const names = (wanted: (typeof rows)[number]['change']) =>
    rows.filter((row) => row.change === wanted).map(({ id }) => id.replaceAll('\0', '.'));
  return t.document.changes({ changed: names('changed'), added: names('added'), removed: names('removed') });
}
