import { HardDrive, Info, Lock, Plus } from 'lucide-react';
import { useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { List } from '../../components/list.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Empty } from '../../components/states.tsx';
import { Badge, State } from '../../components/status.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useNotice, usePaths, useSearch } from '../../url.ts';
import { type Destination, StorageForm } from './storage-form.tsx';

const placeOf = (destination: Destination) =>
  destination.path ?? [destination.bucket, destination.prefix].filter(Boolean).join('/');

export function DestinationState({ destination }: { destination: Destination }) {
  return (
    <State tone={destination.status === 'connected' ? 'held' : 'fail'}>{t.storage.status[destination.status]}</State>
  );
}

const columns: Column<Destination>[] = [
  {
    id: 'name',
    header: t.storage.columns.name,
    isLink: true,
    className: 'w-px',
    cell: ({ name }) => <Cut text={name} className="font-medium" />,
  },
  {
    id: 'default',
    header: <span className="sr-only">{t.storage.isDefault}</span>,
    cell: ({ isDefault }) =>
      isDefault && (
        <Badge tone="off" icon={null}>
          {t.storage.isDefault}
        </Badge>
      ),
  },
  {
    id: 'place',
    header: t.storage.columns.place,
    from: 'md',
    cell: (destination) => (
      <Cut text={placeOf(destination) ?? ''} className="max-w-80">
        <span className="text-ink2">{t.storage.types[destination.type]}</span>{' '}
        <code className="font-mono text-meta">{placeOf(destination)}</code>
      </Cut>
    ),
  },
  {
    id: 'status',
    header: t.storage.columns.status,
    cell: (destination) => <DestinationState destination={destination} />,
  },
  {
    id: 'lock',
    header: t.storage.columns.lock,
    from: 'lg',
    cell: ({ objectLock }) =>
      objectLock ? (
        <span className="inline-flex items-center gap-1.5 align-middle">
          <Lock size={14} aria-hidden /> {t.storage.lockFact(objectLock.days, objectLock.mode)}
        </span>
      ) : (
        <span className="text-ink3">{t.common.none}</span>
      ),
  },
  {
    id: 'backups',
    header: t.storage.columns.backups,
    align: 'right',
    from: 'md',
    cell: ({ usage }) => formatCount(usage.backups),
  },
  { id: 'bytes', header: t.storage.columns.bytes, align: 'right', cell: ({ usage }) => formatBytes(usage.bytes) },
];

export function Page() {
  const destinations = useAll('listStorageDestinations', {});
  const canAdd = useCan('admin');
  const paths = usePaths();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const close = () => setSearch({ new: undefined }, { replace: true });
  const notice = useNotice();
  const add = canAdd && (
    <Button kind="primary" icon={Plus} onClick={() => setSearch({ new: '1' })}>
      {t.storage.add}
    </Button>
  );
  return (
    <PageFrame
      title={t.storage.title}
      crumbs={[{ label: t.storage.title }]}
      subtitle={t.storage.subtitle}
      actions={add}
    >
      {search.new && !canAdd && <NotForRole>{t.common.linkNotForYou.admin}</NotForRole>}
      {notice && (
        <p role="status" className="flex gap-2 rounded-panel border border-line bg-bg px-4 py-3 text-table">
          <Info size={16} aria-hidden className="mt-0.5 shrink-0 text-ink2" /> {notice}
        </p>
      )}
      <List
        list={destinations}
        empty={
          <Empty icon={HardDrive} title={t.storage.empty} action={add}>
            {canAdd ? t.storage.emptyText : t.common.setUpBy.admin}
          </Empty>
        }
      >
        {(rows) => (
          <DataTable
            label={t.storage.title}
            columns={columns}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ id }) => paths.destination(id)}
            phone={(destination) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="min-w-0 truncate font-medium" dir="auto">
                    {destination.name}
                  </span>
                  <DestinationState destination={destination} />
                </span>
                <span className="block text-meta text-ink3">
                  {t.storage.types[destination.type]} · {formatBytes(destination.usage.bytes)}
                </span>
              </>
            )}
          />
        )}
      </List>
      {search.new && canAdd && (
        <Dialog wide title={t.storage.add} onClose={close}>
          <StorageForm
            submitLabel={t.storage.saveAndTest}
            onCancel={close}
            onDone={(made) => go(paths.destination(made.id))}
          />
        </Dialog>
      )}
    </PageFrame>
  );
}
