import { type Backup, jobStatuses, type Restore } from '@holdfast/contract';
import { RotateCcw } from 'lucide-react';
import { useAll, useList } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { List } from '../../components/list.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Empty, FilteredEmpty } from '../../components/states.tsx';
import { Badge } from '../../components/status.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { momentOf } from '../backups/shared.tsx';
import { DrillList, restoreTabs } from './drill-list.tsx';
import { wroteNothing } from './phase-words.ts';
import { isRunning, RestoreState, useProjectNames, whatOf } from './shared.tsx';

export function Page() {
  const [{ tab }] = useSearch();
  return tab === 'drills' ? <DrillList /> : <RestoreList />;
}

function RestoreList() {
  const [search, setSearch] = useSearch();
  const { status, project, target, kind } = search;
  const isFiltered = Boolean(status ?? project ?? target ?? kind);
  const list = useList('listRestores', {
    query: {
      limit: 100,
      ...(status ? { status: status as Restore['status'] } : {}),
      ...(project ? { projectId: project } : {}),
      ...(target ? { targetProjectId: target } : {}),
      ...(kind ? { dryRun: kind === 'dry' } : {}),
    },
  });
  const paths = usePaths();
  const nameOf = useProjectNames();
  const named = useAll('listProjects', {}).rows?.map(({ id, name }) => [id, name] as const) ?? [];
  // One call for the snapshot times of all; the row of an older backup just says "a backup".
  const backups = useAll('listBackups', { query: { limit: 200 } }, { everyMs: false }).rows ?? [];
  const canRestore = useCan('member');
  const start = canRestore && (
    <LinkButton kind="primary" icon={RotateCcw} to={paths.newRestore({})}>
      {t.restores.new}
    </LinkButton>
  );
  return (
    <PageFrame
      title={t.restores.title}
      crumbs={[{ label: t.restores.title }]}
      subtitle={t.restores.subtitle}
      actions={start}
    >
      <Tabs label={t.restores.tabs.label} tabs={restoreTabs} current="restores" />
      <FilterBar values={[project, target, status, kind]}>
        <Filter
          isFirst
          label={t.restores.filters.source}
          value={project}
          onChange={(value) => setSearch({ project: value })}
          options={named}
        />
        <Filter
          label={t.restores.filters.target}
          value={target}
          onChange={(value) => setSearch({ target: value })}
          options={named}
        />
        <Filter
          label={t.restores.filters.status}
          value={status}
          onChange={(value) => setSearch({ status: value })}
          options={jobStatuses.map((value) => [value, t.jobs.status[value]])}
        />
        <Filter
          label={t.restores.filters.kind}
          value={kind}
          onChange={(value) => setSearch({ kind: value })}
          options={Object.entries(t.restores.kinds)}
        />
      </FilterBar>
      <List
        list={list}
        empty={
          <Empty
            icon={RotateCcw}
            title={t.restores.empty}
            action={<LinkButton to={paths.find()}>{t.find.title}</LinkButton>}
          >
            {canRestore ? t.restores.emptyText : t.restores.emptyToLook}
          </Empty>
        }
        filteredEmpty={isFiltered && <FilteredEmpty onClear={() => setSearch(cleared)} />}
      >
        {(rows) => (
          <DataTable
            label={t.restores.title}
            columns={columnsOf(nameOf, rows, backups, canRestore ? paths.undo : undefined)}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ id }) => paths.restore(id)}
            hasMore={list.hasMore}
            isLoadingMore={list.isLoadingMore}
            loadMore={list.loadMore}
            phone={(restore) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="truncate font-medium">{whatAmong(rows, restore)}</span>
                  <RestoreState restore={restore} />
                </span>
                <span className="flex justify-between gap-2 text-meta text-ink3">
                  <span className="min-w-0 truncate" dir="auto">
                    {[kindOf(restore), nameOf(restore.targetProjectId)].filter(Boolean).join(' · ')}
                  </span>
                  <Time at={restore.createdAt} as="near" />
                </span>
              </>
            )}
          />
        )}
      </List>
    </PageFrame>
  );
}

const cleared = { status: undefined, project: undefined, target: undefined, kind: undefined };

/** An undo is named by what it undoes, if that is in the list too. */
function whatAmong(rows: readonly Restore[], restore: Restore): string {
  const undone = restore.undoOf === null ? undefined : rows.find(({ id }) => id === restore.undoOf);
  return whatOf(undone ?? restore);
}

/** Names dry runs, undos and undone restores; null for a plain restore. */
function kindOf({ dryRun, undoOf, undoneBy }: Restore): string | null {
  if (dryRun) return undoOf ? t.restores.dryUndo : t.restores.dryRun;
  if (undoneBy) return t.restores.undone;
  return undoOf && t.restores.undoOf;
}

/** It has a safety backup and was not undone yet. */
const canBeUndone = (restore: Restore) =>
  !restore.dryRun &&
  !restore.undoOf &&
  !restore.undoneBy &&
  restore.safetyBackupId !== null &&
  !isRunning(restore) &&
  !wroteNothing(restore);

function fromOf({ undoOf, pointInTime, backupId }: Restore, backups: readonly Backup[]) {
  if (undoOf !== null) return null;
  const backup = backups.find(({ id }) => id === backupId);
  const at = pointInTime ?? (backup && momentOf(backup));
  return at ? <Time at={at} as="near" /> : backupId && <span className="text-ink2">{t.restores.aBackup}</span>;
}

function UndoLink({ to, restore }: { to: string; restore: Restore }) {
  const label = t.common.about(t.restore.undo, `${whatOf(restore)}, ${formatDateTime(restore.createdAt, useZone())}`);
  return (
    <RowLink to={to} aria-label={label} className="font-medium text-held hover:underline">
      {t.restore.undo}
    </RowLink>
  );
}

function columnsOf(
  nameOf: (id: string) => string,
  rows: readonly Restore[],
  backups: readonly Backup[],
  undoTo: ((id: string) => string) | undefined,
): Column<Restore>[] {
  const { columns } = t.restores;
  return [
    { id: 'status', header: columns.status, cell: (restore) => <RestoreState restore={restore} /> },
    {
      id: 'what',
      header: columns.what,
      isLink: true,
      className: 'max-w-72 truncate',
      // Dry runs are less prominent than restores that wrote.
      cell: (restore) => (
        <span className={restore.dryRun ? 'text-ink2' : 'font-medium'}>{whatAmong(rows, restore)}</span>
      ),
    },
    {
      id: 'kind',
      header: <span className="sr-only">{t.restores.filters.kind}</span>,
      cell: (restore) => {
        const kind = kindOf(restore);
        return kind && <Badge tone="off">{kind}</Badge>;
      },
    },
    { id: 'from', header: columns.from, from: 'lg', cell: (restore) => fromOf(restore, backups) },
    { id: 'into', header: columns.into, cell: ({ targetProjectId }) => <Cut text={nameOf(targetProjectId)} /> },
    { id: 'started', header: columns.started, cell: ({ createdAt }) => <Time at={createdAt} as="near" /> },
    {
      id: 'documents',
      header: columns.documents,
      align: 'right',
      from: 'md',
      cell: (restore) => (restore.dryRun ? '' : formatCount(restore.documentsRestored + restore.documentsDeleted)),
    },
    {
      id: 'took',
      header: columns.took,
      align: 'right',
      from: 'lg',
      cell: ({ duration }) => (
        <span className="text-ink2">{duration === null ? '' : formatDuration(duration * 1000)}</span>
      ),
    },
    {
      id: 'undo',
      header: <span className="sr-only">{t.restores.undoHeader}</span>,
      align: 'right',
      cell: (restore) => undoTo && canBeUndone(restore) && <UndoLink to={undoTo(restore.id)} restore={restore} />,
    },
  ];
}
