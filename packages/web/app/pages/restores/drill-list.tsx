import type { ItemOf, Operations } from '@holdfast/contract';
import { BadgeCheck, Download } from 'lucide-react';
import { useAll, useList } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { List } from '../../components/list.tsx';
import { Empty, FilteredEmpty } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { saveFile } from '../../format/save-file.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { DrillState } from '../backups/drill-state.tsx';

type Drill = ItemOf<Operations['listAllDrills']>;

export const restoreTabs = [
  { id: 'restores', label: t.restores.tabs.restores },
  { id: 'drills', label: t.restores.tabs.drills },
];

/** All drills with their signed reports. */
export function DrillList() {
  const [search, setSearch] = useSearch();
  const projects = useAll('listProjects', {}).rows ?? [];
  const list = useList('listAllDrills', {
    query: { limit: 50, ...(search.project ? { projectId: search.project } : {}) },
  });
  const paths = usePaths();
  const canRun = useCan('member');
  const nameOf = (id: string) => projects.find((project) => project.id === id)?.name ?? id;
  return (
    <PageFrame
      title={t.restores.drills.title}
      crumbs={[{ label: t.restores.title, to: paths.restores }, { label: t.restores.tabs.drills }]}
      subtitle={t.restores.drills.subtitle}
    >
      <Tabs label={t.restores.tabs.label} tabs={restoreTabs} current="drills" />
      <FilterBar values={[search.project]}>
        <Filter
          isFirst
          label={t.restores.filters.project}
          value={search.project}
          onChange={(project) => setSearch({ project })}
          options={projects.map(({ id, name }) => [id, name])}
        />
      </FilterBar>
      <List
        list={list}
        empty={
          <Empty
            icon={BadgeCheck}
            title={t.restores.drills.empty}
            action={
              canRun && (
                <LinkButton kind="primary" to={paths.backups}>
                  {t.restores.drills.chooseBackup}
                </LinkButton>
              )
            }
          >
            {t.backups.drillHint}
          </Empty>
        }
        filteredEmpty={search.project && <FilteredEmpty onClear={() => setSearch({ project: undefined })} />}
      >
        {(rows) => (
          <DataTable
            label={t.restores.tabs.drills}
            columns={columnsOf(nameOf)}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ backupId }) => paths.backup(backupId)}
            hasMore={list.hasMore}
            isLoadingMore={list.isLoadingMore}
            loadMore={list.loadMore}
            phone={(drill) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="min-w-0 truncate font-medium" dir="auto">
                    {nameOf(drill.projectId)}
                  </span>
                  <Time at={drill.completedAt ?? drill.createdAt} as="near" />
                </span>
                <DrillState drill={drill} />
              </>
            )}
          />
        )}
      </List>
      <p className="text-meta text-ink3">{t.restores.drills.evidence}</p>
    </PageFrame>
  );
}

function columnsOf(nameOf: (id: string) => string): Column<Drill>[] {
  const { columns } = t.restores.drills;
  return [
    { id: 'result', header: columns.result, cell: (drill) => <DrillState drill={drill} /> },
    {
      id: 'project',
      header: columns.project,
      isLink: true,
      cell: ({ projectId }) => <Cut text={nameOf(projectId)} className="font-medium" />,
    },
    {
      id: 'into',
      header: columns.into,
      from: 'lg',
      cell: ({ targetProjectId }) =>
        targetProjectId ? <Cut text={nameOf(targetProjectId)} /> : t.restores.drills.scratch,
    },
    {
      id: 'equal',
      header: columns.equal,
      align: 'right',
      cell: ({ report, error }) =>
        report ? (
          t.restores.drills.equal(formatCount(report.documentsMatched), formatCount(report.documentsExpected))
        ) : (
          <code className="font-mono text-fail text-meta">{error?.code}</code>
        ),
    },
    {
      id: 'took',
      header: columns.took,
      align: 'right',
      from: 'md',
      cell: ({ report }) => <span className="text-ink2">{report ? formatDuration(report.restoreDurationMs) : ''}</span>,
    },
    {
      id: 'at',
      header: columns.at,
      cell: ({ completedAt, createdAt }) => <Time at={completedAt ?? createdAt} as="near" />,
    },
    {
      id: 'report',
      header: columns.report,
      align: 'right',
      cell: ({ id, signedReport }) =>
        signedReport && (
          <Button icon={Download} onClick={() => saveFile(`${id}.jws`, signedReport, 'application/jose')}>
            {t.backups.drillReport}
          </Button>
        ),
    },
  ];
}
