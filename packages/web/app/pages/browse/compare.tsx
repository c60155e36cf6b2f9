import type { DataOf, Operations } from '@holdfast/contract';
import type { Page as AnswerPage, HoldfastError } from '@holdfast/contract/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { GitCompare } from 'lucide-react';
import { useState } from 'react';
import { keyOf, useAll, useRead } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useWorkplace, useZone } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { Box } from '../../components/list.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { TypeName, Value } from '../../components/value.tsx';
import { formatCount } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useParam, usePaths, useSearch } from '../../url.ts';

type Diff = DataOf<Operations['diffBackup']>;
type Changed = Diff['changed'][number];

/** What changed from this backup to the live database or to another one, page by page. */
export function Page() {
  const backupId = useParam('backupId');
  const [search, setSearch] = useSearch();
  const against = search.against ?? 'live';
  const backup = useRead('getBackup', { params: { backupId } }, { everyMs: false });
  const projectId = backup.data?.projectId ?? '';
  const others = useAll(
    'listBackups',
    { query: { projectId, status: 'completed' } },
    { enabled: projectId !== '', everyMs: false },
  );
  const zone = useZone();
  const paths = usePaths();
  const momentOf = (id: string) => {
    const found = others.rows?.find((other) => other.id === id)?.snapshotTime;
    return found ? formatDateTime(found, zone) : id;
  };
  const from = backup.data?.snapshotTime ? formatDateTime(backup.data.snapshotTime, zone) : '';
  const to = against === 'live' ? t.browse.live.toLowerCase() : momentOf(against);
  return (
    <PageFrame
      title={t.browse.compareTitle}
      crumbs={[
        { label: t.backups.title, to: paths.backups },
        { label: from, to: paths.backup(backupId) },
        { label: t.browse.compareTitle },
      ]}
      subtitle={t.browse.compareSubtitle(from, to)}
    >
      <FilterBar>
        <Filter
          isFirst
          required
          label={t.browse.against}
          value={against}
          onChange={(next) => setSearch({ against: next })}
          options={[
            ['live', t.browse.live],
            ...(others.rows ?? [])
              .filter(({ id }) => id !== backupId)
              .map(({ id }): [string, string] => [id, momentOf(id)]),
          ]}
        />
      </FilterBar>
      {backup.data && (
        <Differences
          key={against}
          backupId={backupId}
          projectId={projectId}
          against={against}
          collection={search.collection}
        />
      )}
    </PageFrame>
  );
}

interface DifferencesProps {
  backupId: string;
  projectId: string;
  against: string;
  collection: string | undefined;
}

function Differences({ backupId, projectId, against, collection }: DifferencesProps) {
  const { organization } = useWorkplace();
  const input = { params: { backupId }, query: { against, limit: 100, ...(collection ? { collection } : {}) } };
  const diff = useInfiniteQuery<AnswerPage<Diff>, HoldfastError>({
    queryKey: keyOf(organization.id, 'diffBackup', input),
    queryFn: ({ pageParam, signal }) =>
      clientFor(organization.id).diffBackup({
        ...input,
        query: { ...input.query, ...(pageParam ? { cursor: pageParam as string } : {}) },
        signal,
      }),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.pagination.nextCursor ?? undefined,
    staleTime: 30_000,
  });
  const paths = usePaths();
  if (diff.error && !diff.data)
    return (
      <Box>
        <Problem error={diff.error} onRetry={() => void diff.refetch()} />
      </Box>
    );
  if (!diff.data)
    return (
      <Box>
        <Skeleton />
      </Box>
    );
  const pages = diff.data.pages.map(({ data }) => data);
  const [added, removed] = [pages.flatMap((page) => page.added), pages.flatMap((page) => page.removed)];
  const changed = pages.flatMap((page) => page.changed);
  // What has been read so far is less than there is.
  const countOf = (entries: readonly unknown[]) => `${formatCount(entries.length)}${diff.hasNextPage ? '+' : ''}`;
  const addedWord = against === 'live' ? t.browse.added : t.browse.addedOther;
  const removedWord = against === 'live' ? t.browse.removed : t.browse.removedOther;
  const total = added.length + removed.length + changed.length;
  return (
    <>
      <p className="flex flex-wrap gap-2 text-meta" role="status">
        <span className="rounded-tag bg-sunken px-2 py-0.5">
          ± {countOf(changed)} {t.browse.changed.toLowerCase()}
        </span>
        <span className="rounded-tag bg-risk-weak px-2 py-0.5 text-risk">
          + {countOf(added)} {addedWord.toLowerCase()}
        </span>
        <span className="rounded-tag bg-held-weak px-2 py-0.5 text-held">
          − {countOf(removed)} {removedWord.toLowerCase()}
        </span>
        {diff.hasNextPage && <span className="self-center text-ink2">{t.browse.comparedSoFar}</span>}
      </p>
      <Box>
        {total === 0 && !diff.hasNextPage && <Empty icon={GitCompare} title={t.browse.nothingDiffers} />}
        <ul>
          {changed.map((entry) => (
            <ChangedRow key={entry.path} entry={entry} to={paths.document(projectId, entry.path)} />
          ))}
          {removed.map((entry) => (
            <SideRow
              key={entry.path}
              path={entry.path}
              tone="then"
              word={removedWord}
              to={paths.document(projectId, entry.path)}
            />
          ))}
          {added.map((entry) => (
            <SideRow
              key={entry.path}
              path={entry.path}
              tone="now"
              word={addedWord}
              to={paths.document(projectId, entry.path)}
            />
          ))}
        </ul>
        {diff.hasNextPage && (
          <div className="flex items-center justify-center gap-3 border-line border-t p-3 text-table text-ink2">
            {t.browse.comparedSoFar}
            <Button busy={diff.isFetchingNextPage} onClick={() => void diff.fetchNextPage()}>
              {t.browse.goOn}
            </Button>
          </div>
        )}
      </Box>
    </>
  );
}

function SideRow({ path, tone, word, to }: { path: string; tone: 'then' | 'now'; word: string; to: string }) {
  return (
    <li className="flex items-center gap-3 border-line border-b px-4 py-2 text-table last:border-b-0">
      <span aria-hidden="true" className={`w-3 font-semibold ${tone === 'then' ? 'text-held' : 'text-risk'}`}>
        {tone === 'then' ? '−' : '+'}
      </span>
      <TextLink to={to} className="min-w-0 break-all font-mono text-ink!">
        {path}
      </TextLink>
      <span className="ml-auto shrink-0 text-meta text-ink3">{word}</span>
    </li>
  );
}

function ChangedRow({ entry, to }: { entry: Changed; to: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-center gap-3 px-4 py-2 text-table">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={`${t.browse.changed}: ${entry.path}`}
          onClick={() => setOpen(!isOpen)}
          className="w-3 font-semibold text-ink2"
        >
          ±
        </button>
        <TextLink to={to} className="min-w-0 break-all font-mono text-ink!">
          {entry.path}
        </TextLink>
        <button
          type="button"
          onClick={() => setOpen(!isOpen)}
          className="ml-auto shrink-0 text-meta text-held hover:underline"
        >
          {t.browse.fieldsChanged(entry.fields.length)}
        </button>
      </div>
      {isOpen && (
        <dl className="border-line border-t bg-bg">
          {entry.fields.map((field) => (
            <div
              key={field.field}
              className="grid grid-cols-[1fr_2fr_2fr] items-start gap-3 border-line border-b px-4 py-1.5 text-table last:border-b-0 max-md:grid-cols-1"
            >
              <dt className="break-words font-medium">{field.field}</dt>
              <dd className="min-w-0 rounded-tag bg-held-weak px-2">
                {field.before ? (
                  <>
                    <Value value={field.before} /> <TypeName value={field.before} />
                  </>
                ) : (
                  <span className="text-ink3">{t.document.notThere}</span>
                )}
              </dd>
              <dd className="min-w-0 rounded-tag bg-risk-weak px-2">
                {field.after ? (
                  <>
                    <Value value={field.after} /> <TypeName value={field.after} />
                  </>
                ) : (
                  <span className="text-ink3">{t.document.notThere}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
