import { Database, Plus } from 'lucide-react';
import { useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { List } from '../../components/list.tsx';
import { useNameFilter } from '../../components/name-filter.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Empty } from '../../components/states.tsx';
import { State } from '../../components/status.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, usePaths, useSearch } from '../../url.ts';
import { ConnectForm, type Project } from './connect-form.tsx';

const columns: Column<Project>[] = [
  {
    id: 'project',
    header: t.projects.columns.project,
    isLink: true,
    cell: (project) => (
      <Cut text={`${project.name} ${project.sourceProjectId}`} className="max-w-96">
        <span className="font-medium">{project.name}</span>{' '}
        <span className="font-mono text-meta text-ink3">{project.sourceProjectId}</span>
      </Cut>
    ),
  },
  { id: 'connection', header: t.projects.columns.connection, cell: (project) => <ConnectionState project={project} /> },
  {
    id: 'documents',
    header: t.projects.columns.documents,
    align: 'right',
    from: 'md',
    cell: ({ statistics }) => (statistics.documentCount === null ? '' : formatCount(statistics.documentCount)),
  },
  {
    id: 'backups',
    header: t.projects.columns.backups,
    align: 'right',
    from: 'md',
    cell: ({ statistics }) => formatCount(statistics.backupCount),
  },
  {
    id: 'stored',
    header: t.projects.columns.stored,
    align: 'right',
    from: 'md',
    cell: ({ statistics }) => formatBytes(statistics.storageUsed),
  },
  {
    id: 'last',
    header: t.projects.columns.last,
    cell: ({ statistics }) =>
      statistics.newestSnapshotTime ? (
        <Time at={statistics.newestSnapshotTime} as="age" />
      ) : (
        <span className="text-ink3">{t.common.never}</span>
      ),
  },
];

export function ConnectionState({ project }: { project: Project }) {
  const { status } = project.connection;
  return <State tone={status === 'connected' ? 'held' : 'fail'}>{t.projects.connection[status]}</State>;
}

export function Page() {
  const projects = useAll('listProjects', {});
  const filter = useNameFilter(projects.rows, ({ name, sourceProjectId }) => `${name} ${sourceProjectId}`);
  const canConnect = useCan('member');
  const paths = usePaths();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const close = () => setSearch({ new: undefined }, { replace: true });
  const connect = canConnect && (
    <Button kind="primary" icon={Plus} onClick={() => setSearch({ new: '1' })}>
      {t.projects.connect}
    </Button>
  );
  return (
    <PageFrame
      title={t.projects.title}
      crumbs={[{ label: t.projects.title }]}
      subtitle={t.projects.subtitle}
      actions={connect}
    >
      {search.new && !canConnect && <NotForRole>{t.common.linkNotForYou.member}</NotForRole>}
      {filter.field}
      <List
        list={{ ...projects, rows: filter.rows }}
        filteredEmpty={filter.empty}
        empty={
          <Empty icon={Database} title={t.projects.empty} action={connect}>
            {canConnect ? t.projects.emptyText : t.common.setUpBy.member}
          </Empty>
        }
      >
        {(rows) => (
          <DataTable
            label={t.projects.title}
            columns={columns}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ id }) => paths.project(id)}
            phone={(project) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="min-w-0 truncate font-medium" dir="auto">
                    {project.name}
                  </span>
                  <ConnectionState project={project} />
                </span>
                <span className="block truncate font-mono text-meta text-ink3">{project.sourceProjectId}</span>
              </>
            )}
          />
        )}
      </List>
      {search.new && canConnect && (
        <Dialog wide title={t.projects.connect} onClose={close}>
          <ConnectForm onCancel={close} onDone={(project) => go(paths.project(project.id))} />
        </Dialog>
      )}
    </PageFrame>
  );
}
