import type { ItemOf, Operations } from '@holdfast/contract';
import type { HoldfastError } from '@holdfast/contract/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useList } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import type { Fields } from '../../format/values.ts';

/** A version of a document: from a backup, captured, or live. */
export type Version = ItemOf<Operations['listDocumentVersions']> & { readonly id: string };

/** A backup that could not be read. */
export type Unreadable = ReturnType<typeof useVersions>['unreadable'][number];

/** All known versions, newest first. */
export function useVersions(projectId: string, path: string) {
  const list = useList(
    'listDocumentVersions',
    { params: { projectId }, query: { document: path } },
    { everyMs: false },
  );
  const versions = list.rows?.map((version): Version => ({ ...version, id: `${version.source} ${version.at}` }));
  const unreadable = list.pages?.flatMap((page) => page.unreadable ?? []) ?? [];
  return { ...list, versions, unreadable };
}

/** The version named by the address. A former live version may be in a backup by now: match it by time. */
export const versionNamed = (versions: readonly Version[], name: string) =>
  versions.find(({ id }) => id === name) ?? versions.find(({ at }) => name.endsWith(` ${at}`));

/** Times with all digits, in a comparable form. */
const comparable = (time: string) => {
  const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return `${whole}.${fraction.padEnd(9, '0')}`;
};

/** The version valid at a moment; undefined if no known version is that old. */
export const versionAt = (versions: readonly Version[], at: string) =>
  versions.find((version) => comparable(version.at) <= comparable(at));

/** The live document; null if it does not exist. */
export function useLiveFields(projectId: string, path: string) {
  const { organization } = useWorkplace();
  return useQuery<Fields | null, HoldfastError>({
    queryKey: [organization.id, 'live', projectId, path],
    staleTime: 0,
    queryFn: async ({ signal }) =>
      clientFor(organization.id)
        .getProjectDocument({ params: { projectId, documentPath: path }, query: {}, signal })
        .then(
          ({ fields }) => fields,
          (error: HoldfastError) => {
            if (error.code === 'DOCUMENT_NOT_FOUND') return null;
            throw error;
          },
        ),
  });
}

/** The content of a version; null for a deletion. */
export function fieldsQuery(organizationId: string, projectId: string, path: string, version: Version | undefined) {
  return queryOptions<Fields | null, HoldfastError>({
    queryKey: [organizationId, 'version', projectId, path, version?.id],
    enabled: version !== undefined,
    staleTime: version?.source === 'live' ? 0 : Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      if (!version || version.change === 'deleted') return null;
      const client = clientFor(organizationId);
      const { source, backupId, at } = version;
      const { fields } = backupId
        ? await client.getBackupDocument({ params: { backupId, documentPath: path }, signal })
        : await client.getProjectDocument({
            params: { projectId, documentPath: path },
            query: source === 'live' ? {} : { at },
            signal,
          });
      return fields;
    },
  });
}

export function useFields(projectId: string, path: string, version: Version | undefined) {
  return useQuery(fieldsQuery(useWorkplace().organization.id, projectId, path, version));
}
