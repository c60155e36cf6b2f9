import type { PitrWindow } from '@holdfast/contract';
import { CircleCheck, FileSearch, RotateCcw, TriangleAlert } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { asOf, newestDataFirst } from '../../api/newest-backup.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { LinkButton, TextLink } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatClock, formatDateTime, inputClock, inputDate, instantOf } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { reachOf } from './reachable.ts';

interface GoBackProps {
  projectId: string;
  pitr: PitrWindow;
  atMs: number;
  onChoose: (ms: number) => void;
}

export function GoBack({ projectId, pitr, atMs, onChoose: choose }: GoBackProps) {
  const zone = useZone();
  const paths = usePaths();
  const [search] = useSearch();
  const canRestore = useCan('member');
  const set = (date: string, clock: string) => {
    const at = instantOf(date, clock, zone);
    if (at) choose(at.getTime());
  };
  const reach = reachOf(pitr, atMs);
  const [date, clock] = [inputDate(atMs, zone), inputClock(atMs, zone)];
  return (
    <Panel tone={reach.isReachable ? 'plain' : 'risk'} title={t.time.goBack}>
      <fieldset className="flex flex-wrap items-end gap-4">
        <legend className="sr-only">{t.time.goBack}</legend>
        <Field label={t.time.date}>
          <TextInput type="date" value={date} onChange={(event) => set(event.target.value, clock)} />
        </Field>
        <Field label={t.time.clock}>
          <TextInput type="time" step={1} value={clock} onChange={(event) => set(date, event.target.value)} />
        </Field>
        <div role="status" className="text-table">
          {reach.isReachable ? (
            <span className="inline-flex items-center gap-2 text-held">
              <CircleCheck size={16} aria-hidden /> {t.time.reachable}
            </span>
          ) : (
            <span className="inline-flex items-center gap-2 text-risk">
              <TriangleAlert size={16} aria-hidden /> {reach.inGap ? t.time.inGap : t.time.outside}
            </span>
          )}
          <span className="block text-meta text-ink3">{formatDateTime(atMs, 'UTC')} UTC</span>
        </div>
        {reach.nearest.length > 0 && (
          <p className="flex flex-wrap items-center gap-2 text-table">
            {t.time.nearest}
            {reach.nearest.map((ms) => (
              <button
                key={ms}
                type="button"
                onClick={() => choose(ms)}
                className="font-medium text-held hover:underline"
              >
                {formatDateTime(ms, zone)}
              </button>
            ))}
          </p>
        )}
        {!reach.isReachable && <BackupBefore projectId={projectId} atMs={atMs} />}
        {reach.isReachable && (
          <div className="ml-auto flex flex-wrap gap-2">
            <LinkButton
              icon={FileSearch}
              to={paths.find(search.q, { project: projectId, at: new Date(atMs).toISOString() })}
            >
              {search.q ? t.time.seeThen(search.q) : t.time.findThen}
            </LinkButton>
            {canRestore && (
              <LinkButton
                kind="primary"
                icon={RotateCcw}
                to={paths.newRestore({ projectId, at: new Date(atMs).toISOString() })}
              >
                {t.time.restoreTo(formatClock(atMs, zone))}
              </LinkButton>
            )}
          </div>
        )}
      </fieldset>
      <p className="mt-3 text-meta text-ink3">{t.time.deletes}</p>
    </Panel>
  );
}

/** For an unreachable moment: the last backup before it. */
function BackupBefore({ projectId, atMs }: Pick<GoBackProps, 'projectId' | 'atMs'>) {
  const zone = useZone();
  const paths = usePaths();
  const canRestore = useCan('member');
  const query = { projectId, status: 'completed', to: new Date(atMs).toISOString(), limit: 20 } as const;
  const backups = useRead('listBackups', { query }, { everyMs: false });
  const [found] = newestDataFirst(backups.data?.data ?? []).filter(
    (backup) => backup.trigger !== 'pre_restore' && Date.parse(asOf(backup)) <= atMs,
  );
  // An older one may be on the next page.
  if (backups.data && !found && backups.data.pagination.nextCursor === null)
    return <p className="text-table">{t.time.noBackupBefore}</p>;
  if (!found) return null;
  return (
    <p className="flex flex-wrap items-center gap-2 text-table">
      {t.time.backupBefore}
      <TextLink to={canRestore ? paths.newRestore({ backupId: found.id }) : paths.backup(found.id)}>
        {formatDateTime(asOf(found), zone)}
      </TextLink>
    </p>
  );
}
