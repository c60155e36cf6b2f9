import {
  backupTriggers,
  backupTypes,
  dayMs,
  hourMs,
  type ItemOf,
  jobStatuses,
  type Operations,
} from '@holdfast/contract';
import { Archive, Download } from 'lucide-react';
import { useCallback, useMemo } from 'react';
import { useAll, useList } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { Key } from '../../components/key.tsx';
import { List } from '../../components/list.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Empty, FilteredEmpty } from '../../components/states.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { serviceNow } from '../../format/service-clock.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import type { Project } from '../projects/connect-form.tsx';
import { NoProject } from '../projects/no-project.tsx';
import { BackupTable } from './backup-table.tsx';
import { ImportDialog } from './import-dialog.tsx';
import { BackupLegend } from './legend.tsx';
import { NewBackupDialog } from './new-backup-dialog.tsx';
import { RunningBackup } from './running-backup.tsx';
import { isOver } from './shared.tsx';

type Named = readonly Project[];
const none: Named = [];

type Destination = ItemOf<Operations['listStorageDestinations']>;
const nowhere: readonly Destination[] = [];

export function Page() {
  const [search, setSearch] = useSearch();
  const listed = useAll('listProjects', {}).rows;
  const projects = listed ?? none;
  const destinations = useAll('listStorageDestinations', {}).rows ?? nowhere;
  const hasNoProject = listed?.length === 0;
  const filters = pick(search);
  const list = useList('listBackups', { query: { ...filters, limit: 100 } as never });
  const canRun = useCan('member');
  const zone = useZone();
  const nameOf = useNames(projects);
  const chosen = search.project ? nameOf(search.project) : undefined;
  const running = useMemo(() => (list.rows ?? []).filter((backup) => !isOver(backup)), [list.rows]);
  const over = useMemo(() => list.rows?.filter(isOver), [list.rows]);
  const isFiltered = Object.keys(filters).length > 0;
  const backUp = canRun && !hasNoProject && (
    <Button kind="primary" icon={Archive} onClick={() => setSearch({ new: search.project ?? '1' })}>
      {t.backups.backUpNow}
    </Button>
  );
  return (
    <PageFrame
      title={t.backups.title}
      crumbs={[{ label: t.backups.title }]}
      subtitle={`${summaryOf(projects, destinations, search)} ${t.backups.subtitle}`.trim()}
      actions={
        canRun && (
          <>
            <Button icon={Download} onClick={() => setSearch({ import: '1' })}>
              {t.backups.import}
            </Button>
            {backUp}
          </>
        )
      }
    >
      {(search.new ?? search.import) && !canRun && <NotForRole>{t.common.linkNotForYou.member}</NotForRole>}
      <Filters projects={projects} destinations={destinations} />
      {running.map((backup, index) => (
        <RunningBackup
          key={backup.id}
          backup={backup}
          projectName={nameOf(backup.projectId)}
          isFollowed={index === 0}
        />
      ))}
      <List
        list={{ ...list, rows: over }}
        empty={
          hasNoProject ? (
            <NoProject icon={Archive}>{t.backups.emptyText}</NoProject>
          ) : (
            <Empty icon={Archive} title={t.backups.empty} action={backUp}>
              {t.backups.emptyText}
            </Empty>
          )
        }
        filteredEmpty={isFiltered && <FilteredEmpty onClear={() => setSearch(cleared)} />}
      >
        {(rows) => <BackupTable rows={rows} list={list} nameOf={nameOf} showProject={!chosen} />}
      </List>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <BackupLegend />
        <p className="text-meta text-ink3">
          {t.backups.zone(zone)}{' '}
          <span className="ml-3 inline-flex items-center gap-1 max-md:hidden">
            <Key>J</Key> <Key>K</Key> {t.backups.keys.move} <Key>Enter</Key> {t.backups.keys.open} <Key>R</Key>{' '}
            {t.backups.keys.restore} <Key>C</Key> {t.backups.keys.compare} <Key>→</Key> {t.backups.keys.more}
          </span>
        </p>
      </div>
      {search.new && canRun && !hasNoProject && (
        <NewBackupDialog projectId={search.new} onClose={() => setSearch({ new: undefined }, { replace: true })} />
      )}
      {search.import && canRun && <ImportDialog onClose={() => setSearch({ import: undefined }, { replace: true })} />}
    </PageFrame>
  );
}

const filterNames = ['project', 'status', 'type', 'trigger', 'days', 'storage'] as const;
const cleared = Object.fromEntries(filterNames.map((name) => [name, undefined]));

type Search = Readonly<Record<string, string | undefined>>;

/** The number and size of backups; empty until they are known. */
function summaryOf(projects: Named, destinations: readonly Destination[], { project, storage }: Search): string {
  if (storage) return project ? '' : summaryIn(destinations.find(({ id }) => id === storage));
  const counted = projects.filter(({ id }) => project === undefined || id === project);
  const [only] = counted;
  if (!only) return '';
  const sum = (of: (project: Project) => number) => counted.reduce((total, project) => total + of(project), 0);
  return t.backups.summary(
    sum(({ statistics }) => statistics.backupCount),
    counted.length === 1 ? t.backups.of(only.name) : t.backups.ofProjects(counted.length),
    formatBytes(sum(({ statistics }) => statistics.storageUsed)),
  );
}

function summaryIn(destination: Destination | undefined): string {
  if (!destination) return '';
  const { name, usage } = destination;
  return t.backups.summary(usage.backups, t.backups.inPlace(name), formatBytes(usage.bytes));
}

/** Rounded to the hour, so that the query key stays the same. */
const daysAgo = (days: string) =>
  new Date(Math.floor(serviceNow() / hourMs) * hourMs - Number(days) * dayMs).toISOString();

function pick(search: Search): Record<string, string> {
  const { project, status, type, trigger, days, storage } = search;
  const from = days && t.backups.days[days] ? daysAgo(days) : undefined;
  return Object.fromEntries(
    Object.entries({ projectId: project, storageDestinationId: storage, status, type, trigger, from }).filter(
      (entry): entry is [string, string] => Boolean(entry[1]),
    ),
  );
}

function useNames(projects: Named): (id: string) => string {
  const names = useMemo(() => new Map(projects.map(({ id, name }) => [id, name])), [projects]);
  return useCallback((id) => names.get(id) ?? id, [names]);
}

function Filters({ projects, destinations }: { projects: Named; destinations: readonly Destination[] }) {
  const [search, setSearch] = useSearch();
  const { filters } = t.backups;
  return (
    <FilterBar values={filterNames.map((name) => search[name])}>
      <Filter
        isFirst
        label={filters.project}
        value={search.project}
        onChange={(project) => setSearch({ project })}
        options={projects.map(({ id, name }) => [id, name])}
      />
      <Filter
        label={filters.status}
        value={search.status}
        onChange={(status) => setSearch({ status })}
        options={jobStatuses.map((status) => [status, t.jobs.status[status]])}
      />
      <Filter
        label={filters.type}
        value={search.type}
        onChange={(type) => setSearch({ type })}
        options={backupTypes.map((type) => [type, t.backups.types[type]])}
      />
      <Filter
        label={filters.trigger}
        value={search.trigger}
        onChange={(trigger) => setSearch({ trigger })}
        options={backupTriggers.map((trigger) => [trigger, t.backups.triggers[trigger]])}
      />
      <Filter
        label={filters.days}
        value={search.days}
        onChange={(days) => setSearch({ days })}
        options={Object.entries(t.backups.days)}
      />
      {(destinations.length > 1 || search.storage) && (
        <Filter
          label={filters.storage}
          value={search.storage}
          onChange={(storage) => setSearch({ storage })}
          options={destinations.map(({ id, name }) => [id, name])}
        />
      )}
    </FilterBar>
  );
}
