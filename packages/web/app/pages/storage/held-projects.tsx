import { type ItemOf, minuteMs, type Operations } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import type { Destination } from './storage-form.tsx';
import { useWriters, type Writer } from './use-writers.ts';

type Held = ItemOf<Operations['listStorageProjects']>;

/** The contents of a destination and its writers, by project. */
export function HeldProjects({ destination }: { destination: Destination }) {
  const params = { storageDestinationId: destination.id };
  const held = useAll('listStorageProjects', { params }, { everyMs: 10 * minuteMs });
  const writers = useWriters(destination);
  const words = t.storage.held;
  const rows = held.rows && withWriters(held.rows, writers);
  return (
    <Panel title={words.title} flush>
      {held.error && <Problem error={held.error} onRetry={() => void held.refetch()} />}
      {!rows && !held.error && <Skeleton rows={2} />}
      {rows?.length === 0 && <p className="px-4 py-3 text-table text-ink2">{words.nothing}</p>}
      <ul aria-label={words.title}>
        {rows?.map((row) => (
          <li key={row.projectId} className="border-line border-b px-4 py-2.5 text-table last:border-b-0">
            <Project
              destinationId={destination.id}
              row={row}
              writers={writers.filter(({ projectId }) => projectId === row.projectId)}
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Includes projects that write there but have no backup there yet. */
function withWriters(held: readonly Held[], writers: readonly Writer[]): Held[] {
  const known = new Set(held.map(({ projectId }) => projectId));
  const coming = new Map(writers.filter(({ projectId }) => !known.has(projectId)).map((one) => [one.projectId, one]));
  const nothing = { isConnected: true, backups: 0, bytes: 0, newestBackupAt: null, log: null };
  return [
    ...held,
    ...[...coming.values()].map(({ projectId, projectName }) => ({ projectId, name: projectName, ...nothing })),
  ];
}

function Project({ destinationId, row, writers }: { destinationId: string; row: Held; writers: readonly Writer[] }) {
  const paths = usePaths();
  const words = t.storage.held;
  const { log } = row;
  return (
    <>
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <span className="min-w-0 wrap-anywhere font-medium" dir="auto">
          {row.isConnected ? (
            <TextLink to={paths.project(row.projectId)}>{row.name}</TextLink>
          ) : (
            (row.name ?? row.projectId)
          )}
          {!row.isConnected && <span className="ml-2 font-normal text-ink3">{words.disconnected}</span>}
        </span>
        {/* Of its backups, as the sum above; captured changes are told with theirs below. */}
        {row.bytes > 0 && <span className="text-ink2">{formatBytes(row.bytes)}</span>}
      </p>
      <ul className="text-ink2">
        <li>
          {row.backups === 0 ? (
            words.noBackups
          ) : (
            <>
              <TextLink to={paths.backupsIn(destinationId, row.projectId)}>{words.backups(row.backups)}</TextLink>
              {', '}
              {words.newest} <Time at={row.newestBackupAt} as="near" />
            </>
          )}
        </li>
        {log && (
          <li>
            {words.log(formatBytes(log.bytes))} <Time at={log.coveredThrough} as="near" />
            {!log.enabled && `, ${words.logOff}`}
          </li>
        )}
        <li>
          {writers.length === 0 && !log?.enabled ? (
            words.noWriter
          ) : (
            <Writers writers={writers} isCaptured={log?.enabled ?? false} />
          )}
        </li>
      </ul>
    </>
  );
}

function Writers({ writers, isCaptured }: { writers: readonly Writer[]; isCaptured: boolean }) {
  const paths = usePaths();
  const words = t.storage.held;
  return (
    <span className="wrap-anywhere">
      {words.writtenBy}{' '}
      {writers.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <TextLink to={paths.schedule(id)}>{name}</TextLink>
        </span>
      ))}
      {isCaptured && `${writers.length > 0 ? ', ' : ''}${words.capture}`}
    </span>
  );
}
