import type { ReactNode } from 'react';
import { useAll } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Pending } from '../../components/states.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { rhythmWords } from '../schedules/rhythm-words.ts';
import { standsStillAt } from '../time/reach.ts';
import type { Project } from './connect-form.tsx';

/** The age of the newest good backup, the schedules, and how far back point in time reaches. */
export function Protection({ project }: { project: Project }) {
  const paths = usePaths();
  const { statistics, pitr } = project;
  const words = t.projects.protection;
  return (
    <Panel>
      <dl aria-label={words.label} className="grid gap-x-6 gap-y-3 text-table sm:grid-cols-3">
        <Fact name={words.newest}>
          {statistics.newestSnapshotTime ? (
            <TextLink to={paths.backupsOf(project.id)}>
              <Time at={statistics.newestSnapshotTime} as="age" />
            </TextLink>
          ) : (
            words.none
          )}
        </Fact>
        <Fact name={words.schedule}>
          <Schedules projectId={project.id} />
        </Fact>
        <Fact name={words.time}>
          <TextLink to={paths.time(project.id)}>{pitr.enabled ? <Reach pitr={pitr} /> : words.off}</TextLink>
        </Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-ink3 text-meta">{name}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}

function Reach({ pitr }: { pitr: Project['pitr'] }) {
  const zone = useZone();
  const until = standsStillAt(pitr, useNow());
  const { anySecond, since, until: to, gaps } = t.overview.table;
  if (!pitr.coveredFrom) return t.projects.protection.starting;
  return [
    anySecond.concat(' ', since(formatDateTime(pitr.coveredFrom, zone))),
    until && to(formatDateTime(until, zone)),
    pitr.gaps.length > 0 && gaps(pitr.gaps.length),
  ]
    .filter(Boolean)
    .join(', ');
}

function Schedules({ projectId }: { projectId: string }) {
  const paths = usePaths();
  const canAdd = useCan('member');
  const schedules = useAll('listSchedules', { query: { projectId } });
  const words = t.projects.protection;
  if (!schedules.rows) return schedules.error ? words.unread : <Pending />;
  if (schedules.rows.length === 0)
    return (
      <>
        {words.byHand} {canAdd && <TextLink to={paths.newSchedule(projectId)}>{t.schedules.add}</TextLink>}
      </>
    );
  return (
    <ul>
      {schedules.rows.map(({ id, name, cron, enabled }) => (
        <li key={id}>
          <TextLink to={paths.schedule(id)}>{name}</TextLink>{' '}
          <span className="text-ink2">{enabled ? rhythmWords(cron) : t.schedules.disabled.toLowerCase()}</span>
        </li>
      ))}
    </ul>
  );
}
