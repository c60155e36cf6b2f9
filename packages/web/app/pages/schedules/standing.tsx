import type { Schedule } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Pending } from '../../components/states.tsx';
import { Badge, State, type Tone } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** What keeps a schedule that is on from doing its work, and where that is mended. */
export interface Hindrance {
  /** Fail: no run can end well. Risk: a part of what it should do is missing. */
  readonly tone: 'fail' | 'risk';
  readonly why: string;
  readonly advice: string;
  readonly action: string;
  readonly to: string;
}

type Planned = Pick<Schedule, 'enabled' | 'projectId' | 'storageDestinationIds'>;

/** Null: nothing that is known of. 'unread': project and storage could not be asked for; undefined while they are. */
export function useHindrances(): (schedule: Planned) => Hindrance | null | 'unread' | undefined {
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

/** On, off, or on and of no use; whether it can run is not claimed where nobody could look. */
function useStanding(schedule: Schedule): { tone: Tone; word: string; why?: string } | undefined {
  const hindrance = useHindrances()(schedule);
  const { disabled, enabled, unread, unreadText, cannotRun, runsInPart } = t.schedules;
  if (!schedule.enabled) return { tone: 'off', word: disabled };
  if (hindrance === undefined) return undefined;
  if (hindrance === 'unread') return { tone: 'off', word: unread, why: unreadText };
  if (hindrance === null) return { tone: 'held', word: enabled };
  return { tone: hindrance.tone, word: hindrance.tone === 'fail' ? cannotRun : runsInPart, why: hindrance.why };
}

export function Standing({ schedule }: { schedule: Schedule }) {
  const standing = useStanding(schedule);
  if (!standing) return <Pending />;
  return (
    <span title={standing.why}>
      <State tone={standing.tone}>{standing.word}</State>
    </span>
  );
}

export function StandingBadge({ schedule }: { schedule: Schedule }) {
  const standing = useStanding(schedule);
  return standing ? <Badge tone={standing.tone}>{standing.word}</Badge> : null;
}

/** Why it cannot run, and what to do. */
export function HindrancePanel({ schedule }: { schedule: Schedule }) {
  const hindrance = useHindrances()(schedule);
  const canMend = useCan('member');
  if (!hindrance || hindrance === 'unread') return null;
  const { tone, why, advice, action, to } = hindrance;
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
