import { type Backup, backupTriggers, backupTypes, jobStatuses } from '@holdfast/contract';
import { Archive, Download } from 'lucide-react';
import { useAll, useList } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { Key } from '../../components/key.tsx';
import { List } from '../../components/list.tsx';
import { Empty, FilteredEmpty } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { ChainMark, chainLinks } from './chain-mark.tsx';
import { ImportDialog } from './import-dialog.tsx';
import { BackupLegend } from './legend.tsx';
import { NewBackupDialog } from './new-backup-dialog.tsx';
import { RunningBackup } from './running-backup.tsx';
import { BackupState, isOver, Kept, momentOf, Proof, typeName } from './shared.tsx';

export function Page() {
  const [search, setSearch] = useSearch();
  const projects = useAll('listProjects', {}).rows ?? [];
  const filters = pick(search);
  const list = useList('listBackups', { query: { ...filters, limit: 100 } as never });
  const canRun = useCan('member');
  const zone = useZone();
  const nameOf = (id: string) => projects.find((project) => project.id === id)?.name ?? id;
  const chosen = search.project ? nameOf(search.project) : undefined;
  const rows = list.rows ?? [];
  const running = rows.filter((backup) => !isOver(backup));
  const isFiltered = Object.keys(filters).length > 0;
  const backUp = canRun && (
    <Button kind="primary" icon={Archive} onClick={() => setSearch({ new: search.project ?? '1' })}>
      {t.backups.backUpNow}
    </Button>
  );
  return (
    <PageFrame
      title={t.backups.title}
      crumbs={[{ label: t.backups.title }]}
      subtitle={chosen ? `${t.backups.of(chosen).replace(/^o/, 'O')}. ${t.backups.subtitle}` : t.backups.subtitle}
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
      <Filters projects={projects} />
      {running.map((backup, index) => (
        <RunningBackup
          key={backup.id}
          backup={backup}
          projectName={nameOf(backup.projectId)}
          isFollowed={index === 0}
        />
      ))}
      <List
        list={{ ...list, rows: list.rows?.filter(isOver) }}
        empty={
          <Empty icon={Archive} title={t.backups.empty} action={backUp}>
            {t.backups.emptyText}
          </Empty>
        }
        filteredEmpty={isFiltered && <FilteredEmpty onClear={() => setSearch(cleared)} />}
      >
        {(over) => <BackupTable rows={over} list={list} nameOf={nameOf} showProject={!chosen} />}
      </List>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <BackupLegend />
        <p className="text-meta text-ink3">
          {t.backups.zone(zone)}{' '}
          <span className="ml-3 inline-flex items-center gap-1 max-md:hidden">
            <Key>J</Key> <Key>K</Key> {t.backups.keys.move} <Key>Enter</Key> {t.backups.keys.open}
          </span>
        </p>
      </div>
      {search.new && canRun && <NewBackupDialog projectId={search.new} onClose={() => setSearch({ new: undefined })} />}
      {search.import && canRun && <ImportDialog onClose={() => setSearch({ import: undefined })} />}
    </PageFrame>
  );
}

const cleared = { project: undefined, status: undefined, type: undefined, trigger: undefined, from: undefined };

function pick(search: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { project, status, type, trigger, from } = search;
  return Object.fromEntries(
    Object.entries({ projectId: project, status, type, trigger, from }).filter((entry): entry is [string, string] =>
      Boolean(entry[1]),
    ),
  );
}

function Filters({ projects }: { projects: readonly { id: string; name: string }[] }) {
  const [search, setSearch] = useSearch();
  const { filters } = t.backups;
  return (
    <FilterBar>
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
    </FilterBar>
  );
}

interface BackupTableProps {
  rows: readonly Backup[];
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
  nameOf: (projectId: string) => string;
  showProject: boolean;
}

function BackupTable({ rows, list, nameOf, showProject }: BackupTableProps) {
  const paths = usePaths();
  const links = chainLinks(rows);
  const { columns: headers } = t.backups;
  const columns: Column<Backup>[] = [
    {
      id: 'chain',
      header: <span className="sr-only">{t.backups.chain}</span>,
      className: 'w-8 p-0!  pl-3!',
      cell: (backup, index) => <ChainMark backup={backup} {...(links[index] ?? { up: false, down: false })} />,
    },
    { id: 'status', header: headers.status, cell: (backup) => <BackupState backup={backup} /> },
    { id: 'type', header: headers.type, cell: (backup) => <span className="font-medium">{typeName(backup)}</span> },
    {
      id: 'snapshot',
      header: headers.snapshot,
      isLink: true,
      className: 'whitespace-nowrap',
      cell: (backup) => <MomentText backup={backup} />,
    },
    ...(showProject
      ? [
          {
            id: 'project',
            header: headers.project,
            cell: (backup: Backup) => <Cut text={nameOf(backup.projectId)} />,
          },
        ]
      : []),
    {
      id: 'trigger',
      header: headers.trigger,
      from: 'lg',
      className: 'whitespace-nowrap',
      cell: (backup) => <span className="text-ink2">{t.backups.triggers[backup.trigger]}</span>,
    },
    { id: 'documents', header: headers.documents, align: 'right', cell: (backup) => <Outcome backup={backup} /> },
    {
      id: 'stored',
      header: headers.stored,
      align: 'right',
      from: 'md',
      cell: ({ compressedSize }) => (compressedSize === null ? '' : formatBytes(compressedSize)),
    },
    {
      id: 'took',
      header: headers.took,
      align: 'right',
      from: 'xl',
      cell: ({ duration }) => <span className="text-ink2">{duration === null ? '' : formatDuration(duration)}</span>,
    },
    { id: 'proof', header: headers.proof, from: 'lg', cell: (backup) => <Proof backup={backup} /> },
    {
      id: 'kept',
      header: headers.kept,
      from: 'lg',
      className: 'whitespace-nowrap',
      cell: (backup) => backup.status === 'completed' && <Kept backup={backup} />,
    },
  ];
  return (
    <DataTable
      label={t.backups.title}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      to={({ id }) => paths.backup(id)}
      {...list}
      phone={(backup) => (
        <>
          <span className="flex justify-between gap-2">
            <span className="font-medium">
              {typeName(backup)} {showProject && nameOf(backup.projectId)}
            </span>
            <BackupState backup={backup} />
          </span>
          <span className="flex justify-between gap-2 text-meta text-ink3">
            <MomentText backup={backup} />
            {backup.compressedSize !== null && formatBytes(backup.compressedSize)}
          </span>
        </>
      )}
    />
  );
}

function Cut({ text }: { text: string }) {
  return (
    <span className="block max-w-40 truncate" title={text} dir="auto">
      {text}
    </span>
  );
}

function MomentText({ backup }: { backup: Backup }) {
  return <Time at={momentOf(backup)} as="near" />;
}

function Outcome({ backup }: { backup: Backup }) {
  if (backup.error)
    return (
      <span className="block text-left" title={backup.error.message}>
        <code className="font-mono text-meta text-fail">{backup.error.code}</code>
        <span className="block max-w-44 truncate text-meta text-ink2 max-lg:hidden">{backup.error.message}</span>
      </span>
    );
  return backup.documentCount === null ? null : formatCount(backup.documentCount);
}
