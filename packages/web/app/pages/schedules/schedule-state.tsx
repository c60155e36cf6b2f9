import type { Schedule } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Pending } from '../../components/states.tsx';
import { Badge, State, type Tone } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** What prevents an enabled schedule from running, and where to fix it. */
export interface Obstacle {
  /** Fail: no run can succeed. Risk: some copies are missing. */
  readonly tone: 'fail' | 'risk';
  readonly why: string;
  readonly advice: string;
  readonly action: string;
  readonly to: string;
}

type Planned = Pick<Schedule, 'enabled' | 'projectId' | 'storageDestinationIds'>;

/** Null: no known problem. 'unread': project and storage could not be read; undefined while they load. */
export function useObstacles(): (schedule: Planned) => Obstacle | null | 'unread' | undefined {
  const paths = usePaths();
  const projects = useAll('listProjects', {});
  const destinations = useAll('listStorageDestinations', {});
  const words = t.schedules.hindered;
  return (schedule) => {
    if (!schedule.enabled) return null;
    if (!projects.rows || !destinations.rows) return projects.error || destinations.error ? 'unread' : undefined;
    const project = projects.rows.find(({ id }) => id === schedule.projectId);
    if (project && project.connection.status !== 'connected') {
      const { status } = project.connection;
      const action = status === 'unauthorized' ? t.overview.reconnect(project.name) : t.overview.lookAt(project.name);
      return { tone: 'fail', ...words[status](project.name), action, to: paths.project(project.id) };
    }
    const named = schedule.storageDestinationIds;
    const wanted = destinations.rows.filter(({ id, isDefault }) => (named.length > 0 ? named.includes(id) : isDefault));
    const [broken, ...more] = wanted.filter(({ status }) => status === 'error');
    if (wanted.length === 0)
      return { tone: 'fail', ...words.noStorage, action: t.overview.chooseStorage, to: paths.storage };
    if (!broken) return null;
    const isAll = more.length + 1 === wanted.length;
    const told = (isAll ? words.storage : words.someStorage)(broken.name, broken.error?.message ?? '');
    const tone = isAll ? 'fail' : 'risk';
    return { tone, ...told, action: t.overview.lookAt(broken.name), to: paths.destination(broken.id) };
  };
}

/** On, off, or on but unable to run; not claimed if project and storage could not be read. */
function useScheduleState(schedule: Schedule): { tone: Tone; word: string; why?: string } | undefined {
  const obstacle = useObstacles()(schedule);
  const { disabled, enabled, unread, unreadText, cannotRun, runsInPart } = t.schedules;
  if (!schedule.enabled) return { tone: 'off', word: disabled };
  if (obstacle === undefined) return undefined;
  if (obstacle === 'unread') return { tone: 'off', word: unread, why: unreadText };
  if (obstacle === null) return { tone: 'held', word: enabled };
  return { tone: obstacle.tone, word: obstacle.tone === 'fail' ? cannotRun : runsInPart, why: obstacle.why };
}

export function ScheduleState({ schedule }: { schedule: Schedule }) {
  const state = useScheduleState(schedule);
  if (!state) return <Pending />;
  return (
    <span title={state.why}>
      <State tone={state.tone}>{state.word}</State>
    </span>
  );
}

export function ScheduleBadge({ schedule }: { schedule: Schedule }) {
  const state = useScheduleState(schedule);
  return state ? <Badge tone={state.tone}>{state.word}</Badge> : null;
}

/** Why it cannot run, and what to do. */
export function ObstaclePanel({ schedule }: { schedule: Schedule }) {
  const obstacle = useObstacles()(schedule);
  const canMend = useCan('member');
  if (!obstacle || obstacle === 'unread') return null;
  const { tone, why, advice, action, to } = obstacle;
  return (
    <Panel tone={tone}>
      <div role="alert" className="flex flex-wrap items-center justify-between gap-3 text-table">
        <p className="min-w-0 flex-1 basis-80">
          <b className="font-semibold">{why}</b> <span className="text-ink2">{advice}</span>
        </p>
        {canMend && <LinkButton to={to}>{action}</LinkButton>}
      </div>
    </Panel>
  );
}
