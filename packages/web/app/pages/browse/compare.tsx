import type { Backup } from '@holdfast/contract';
import { GitCompare } from 'lucide-react';
import { useRef } from 'react';
import { useAll, useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { Box } from '../../components/list.tsx';
import { useRowKeys } from '../../components/row-keys.ts';
import { Empty, Problem } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { PageFrame, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useParam, usePaths, useSearch } from '../../url.ts';
import { ChangedRow, type Picking, SideRow } from './compare-rows.tsx';
import { Comparing } from './comparing.tsx';
import { NotCompleted } from './not-completed.tsx';
import { RestoreSelected } from './restore-selected.tsx';
import { useDifferences } from './use-differences.ts';

/** The differences between this backup and the live database or another backup. */
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
  // Read by itself: the list of others may still be loading or not contain it.
  const named = useRead(
    'getBackup',
    { params: { backupId: against } },
    { enabled: against !== 'live', everyMs: false },
  );
  const momentOf = ({ snapshotTime, createdAt }: Backup) => formatDateTime(snapshotTime ?? createdAt, zone);
  if (backup.error && !backup.data)
    return <ProblemPage error={backup.error} onRetry={() => void backup.refetch()} from="backups" />;
  const from = backup.data ? momentOf(backup.data) : '';
  const isReadable = backup.data?.status === 'completed';
  const to = against === 'live' ? t.browse.live.toLowerCase() : named.data && momentOf(named.data);
  const choices = (others.rows ?? []).filter(({ id }) => id !== backupId);
  const isAmongThem = against === 'live' || choices.some(({ id }) => id === against);
  return (
    <PageFrame
      title={t.browse.compareTitle}
      crumbs={[
        { label: t.backups.title, to: paths.backups },
        { label: from, to: paths.backup(backupId) },
        { label: t.browse.compareTitle },
      ]}
      {...(isReadable && to !== undefined ? { subtitle: t.browse.compareSubtitle(from, to) } : {})}
    >
      {backup.data && !isReadable && <NotCompleted backup={backup.data} />}
      {isReadable && (
        <FilterBar values={[search.against, search.collection]}>
          <Filter
            isFirst
            required
            label={t.browse.against}
            value={against}
            onChange={(next) => setSearch({ against: next })}
            options={[
              ['live', t.browse.live],
              ...(isAmongThem ? [] : [[against, to ?? against] as const]),
              ...choices.map((other) => [other.id, momentOf(other)] as const),
            ]}
          />
          {search.collection && (
            <Filter
              label={t.browse.collection}
              value={search.collection}
              onChange={(collection) => setSearch({ collection })}
              options={[[search.collection, search.collection]]}
            />
          )}
        </FilterBar>
      )}
      {backup.data && isReadable && (
        <Differences
          key={`${against} ${search.collection}`}
          backup={backup.data}
          moment={from}
          against={against}
          collection={search.collection}
        />
      )}
    </PageFrame>
  );
}

interface DifferencesProps {
  backup: Backup;
  moment: string;
  against: string;
  collection: string | undefined;
}

function Differences({ backup, moment, against, collection }: DifferencesProps) {
  const { id: backupId, projectId } = backup;
  const diff = useDifferences(backupId, against, collection);
  const { added, removed, changed, total, hasMore, isComparing } = diff;
  const paths = usePaths();
  const frame = useRef<HTMLUListElement>(null);
  useRowKeys(frame);
  // There may be more than what was read.
  const countOf = (entries: readonly unknown[]) => `${formatCount(entries.length)}${hasMore ? '+' : ''}`;
  const addedWord = against === 'live' ? t.browse.added : t.browse.addedOther;
  const removedWord = against === 'live' ? t.browse.removed : t.browse.removedOther;
  // A document that exists only now cannot be restored.
  const picking: Picking = { projectId, backupId, from: moment };
  const documentsTotal = collection === undefined ? backup.documentCount : null;
  const isOver = !hasMore && !isComparing && diff.error === null;
  return (
    <>
      {isComparing && <Comparing compared={diff.compared} total={documentsTotal} onStop={diff.stop} />}
      {(total > 0 || isOver) && (
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
        </p>
      )}
      <RestoreSelected projectId={projectId} />
      {(total > 0 || !isComparing) && (
        <Box>
          {total === 0 && isOver && <Empty icon={GitCompare} title={t.browse.nothingDiffers(collection)} />}
          <ul ref={frame}>
            {changed.map((entry) => (
              <ChangedRow key={entry.path} entry={entry} to={paths.document(projectId, entry.path)} picking={picking} />
            ))}
            {removed.map((entry) => (
              <SideRow
                key={entry.path}
                path={entry.path}
                tone="then"
                word={removedWord}
                to={paths.document(projectId, entry.path)}
                picking={picking}
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
          {diff.error && <Problem error={diff.error} onRetry={diff.retry} />}
          {hasMore && !isComparing && diff.error === null && (
            <div className="flex flex-wrap items-center justify-center gap-3 border-line border-t p-3 text-table text-ink2">
              {t.browse.comparedSoFar(t.browse.comparedOf(diff.compared, documentsTotal))}
              <Button onClick={diff.goOn}>{t.browse.goOn}</Button>
            </div>
          )}
        </Box>
      )}
    </>
  );
}
