import { Activity, ScanSearch, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Field, NamedOptions, SelectInput } from '../../components/field.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, JobFault, Problem } from '../../components/states.tsx';
import { Badge, JobState } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths } from '../../url.ts';
import { BrokenDestination } from './broken-destination.tsx';
import { DestinationFacts } from './destination-facts.tsx';
import { DestinationSettings } from './destination-settings.tsx';
import { HeldProjects } from './held-projects.tsx';
import type { Destination } from './storage-form.tsx';
import { TestSteps } from './test-steps.tsx';

export function Page() {
  const storageDestinationId = useParam('storageId');
  const destination = useRead('getStorageDestination', { params: { storageDestinationId } });
  if (destination.error && !destination.data)
    return <ProblemPage error={destination.error} onRetry={() => void destination.refetch()} from="storage" />;
  return destination.data ? <Shown key={storageDestinationId} destination={destination.data} /> : <PageSkeleton />;
}

type Asking = 'remove' | 'sweep' | 'migrate' | null;

function Shown({ destination }: { destination: Destination }) {
  const paths = usePaths();
  const canEdit = useCan('admin');
  const [asking, setAsking] = useState<Asking>(null);
  const params = { storageDestinationId: destination.id };
  const test = useAct('testStorageDestination');
  const rescan = useAct('rescanStorageDestination');
  const change = useAct('updateStorageDestination');
  const close = () => setAsking(null);
  return (
    <PageFrame
      title={destination.name}
      crumbs={[{ label: t.storage.title, to: paths.storage }, { label: destination.name }]}
      badge={
        <>
          <Badge tone={destination.status === 'connected' ? 'held' : 'fail'}>
            {t.storage.status[destination.status]}
          </Badge>
          {destination.isDefault && (
            <Badge tone="off" icon={null}>
              {t.storage.isDefault}
            </Badge>
          )}
        </>
      }
      subtitle={
        <>
          {`${t.storage.types[destination.type]} · `}
          <TextLink to={paths.backupsIn(destination.id)}>{t.storage.held.backups(destination.usage.backups)}</TextLink>
          {` · ${formatBytes(destination.usage.bytes)}`}
        </>
      }
      actions={
        canEdit && (
          <>
            <Button kind="primary" icon={Activity} busy={test.isPending} onClick={() => test.mutate({ params })}>
              {t.storage.test}
            </Button>
            <MoreMenu
              label={t.common.moreActions}
              items={[
                !destination.isDefault && {
                  label: t.storage.makeDefault,
                  onSelect: () => change.mutate({ params, body: { isDefault: true } }),
                },
                { label: t.storage.rescan, icon: ScanSearch, onSelect: () => rescan.mutate({ params }) },
                { label: t.storage.sweep, onSelect: () => setAsking('sweep') },
                { label: t.storage.migrate, onSelect: () => setAsking('migrate') },
                'line',
                { label: t.storage.remove, icon: Trash2, danger: true, onSelect: () => setAsking('remove') },
              ]}
            />
          </>
        )
      }
    >
      <FormProblem error={test.error ?? rescan.error ?? change.error} />
      <BrokenDestination destination={destination} />
      {test.data ? (
        <TestSteps test={test.data} isNew />
      ) : (
        destination.lastTest && <TestSteps test={destination.lastTest} at={destination.lastTest.at} />
      )}
      <div className="flex flex-col gap-5 lg:flex-row lg:items-start">
        <div className="flex min-w-0 flex-1 flex-col gap-5 empty:hidden">
          <HeldProjects destination={destination} />
          <Tasks storageDestinationId={destination.id} />
          {canEdit && <DestinationSettings destination={destination} />}
        </div>
        <DestinationFacts destination={destination} />
      </div>
      {asking === 'remove' && <Remove destination={destination} onClose={close} onMove={() => setAsking('migrate')} />}
      {asking === 'sweep' && <Sweep destination={destination} onClose={close} />}
      {asking === 'migrate' && <Migrate destination={destination} onClose={close} />}
    </PageFrame>
  );
}

function Tasks({ storageDestinationId }: { storageDestinationId: string }) {
  const tasks = useAll('listStorageTasks', { params: { storageDestinationId } });
  if (tasks.rows?.length === 0 || (!tasks.rows && !tasks.error)) return null;
  return (
    <Panel title={t.storage.tasks} flush>
      {tasks.error && <Problem error={tasks.error} onRetry={() => void tasks.refetch()} />}
      <ul>
        {tasks.rows?.slice(0, 10).map((task) => (
          <li
            key={task.id}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2 text-table last:border-b-0"
          >
            <span className="font-medium">{t.storage.taskKinds[task.kind]}</span>
            <JobState
              status={task.status}
              {...(task.status === 'running' ? { word: `${task.progress.percent} %` } : {})}
            />
            <span className="ml-auto text-ink3">
              <Time at={task.createdAt} as="near" />
            </span>
            <JobFault error={task.error} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface AskProps {
  destination: Destination;
  onClose: () => void;
}

/** A destination with backups cannot be removed: offer to move them. */
function Remove({ destination, onClose, onMove }: AskProps & { onMove: () => void }) {
  const go = useGo();
  const paths = usePaths();
  const { usage } = destination;
  const remove = useAct('deleteStorageDestination', {
    onDone: (message) => go(paths.storage, { notice: String(message), evenUnsaved: true }),
  });
  if (usage.backups > 0)
    return (
      <Confirm
        title={t.storage.removeTitle(destination.name)}
        action={t.storage.migrate}
        onClose={onClose}
        onConfirm={onMove}
      >
        <p>{t.storage.removeHolds(usage.backups, formatBytes(usage.bytes))}</p>
      </Confirm>
    );
  return (
    <Confirm
      title={t.storage.removeTitle(destination.name)}
      action={t.storage.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ params: { storageDestinationId: destination.id } })}
    >
      <p>{t.storage.removeText}</p>
    </Confirm>
  );
}

function Sweep({ destination, onClose }: AskProps) {
  const params = { storageDestinationId: destination.id };
  const orphans = useAll('listOrphans', { params }, { everyMs: false });
  const sweep = useAct('sweepStorageDestination', { onDone: onClose });
  const bytes = orphans.rows?.reduce((sum, orphan) => sum + orphan.bytes, 0) ?? 0;
  const count = orphans.rows?.length ?? 0;
  return (
    <Confirm
      title={t.storage.sweep}
      action={count > 0 ? t.storage.sweep : t.common.close}
      danger={count > 0}
      busy={sweep.isPending || orphans.isLoading}
      error={sweep.error ?? orphans.error}
      onClose={onClose}
      {...(orphans.rows && count === 0 ? { cancel: null } : {})}
      onConfirm={() => (count > 0 ? sweep.mutate({ params }) : onClose())}
    >
      {orphans.rows && <p>{count > 0 ? t.storage.sweepText(count, formatBytes(bytes)) : t.storage.noOrphans}</p>}
    </Confirm>
  );
}

function Migrate({ destination, onClose }: AskProps) {
  const known = useAll('listStorageDestinations', {});
  const destinations = known.rows?.filter(({ id }) => id !== destination.id) ?? [];
  const paths = usePaths();
  const go = useGo();
  const [target, setTarget] = useState('');
  const migrate = useAct('migrateStorageDestination', { onDone: onClose });
  const chosen = target || destinations[0]?.id || '';
  if (known.rows && destinations.length === 0)
    return (
      <Confirm
        title={t.storage.migrate}
        action={t.storage.add}
        onClose={onClose}
        onConfirm={() => go(paths.newStorage)}
      >
        <p>{t.storage.migrateNowhere}</p>
      </Confirm>
    );
  return (
    <Confirm
      title={t.storage.migrate}
      action={t.storage.migrate}
      danger
      typed={destination.name}
      busy={migrate.isPending || known.isLoading}
      error={migrate.error ?? known.error}
      onClose={onClose}
      onConfirm={() =>
        migrate.mutate({ params: { storageDestinationId: destination.id }, body: { toStorageDestinationId: chosen } })
      }
    >
      <p>{t.storage.migrateText}</p>
      <Field label={t.storage.migrateTo}>
        <SelectInput value={chosen} onChange={(event) => setTarget(event.target.value)}>
          <NamedOptions of={destinations} />
        </SelectInput>
      </Field>
    </Confirm>
  );
}
