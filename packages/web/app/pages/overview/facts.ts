import { type Backup, dayMs, hourMs, type Overview } from '@holdfast/contract';
import { isUnserved, useAll, useRead } from '../../api/calls.ts';
import { asOf, newestDataFirst } from '../../api/newest-backup.ts';
import type { LineBand, LinePoint } from '../../components/line/marks.tsx';
import type { Verdict } from '../../components/status.tsx';
import type { Project } from '../projects/connect-form.tsx';

export type OverviewProject = Overview['projects'][number];

/** One row of the overview: the service's verdict and the data to draw. */
export interface ProjectRow {
  readonly project: Project;
  /** Null: there is a schedule, but no verdict of the service. */
  readonly verdict: Verdict | null;
  readonly scheduleName: string | null;
  /** The worst reason, as the service words it. */
  readonly reason: OverviewProject['protection']['reasons'][number] | undefined;
  readonly judged: OverviewProject | undefined;
  readonly backups: readonly Backup[];
  /** The time of the newest data that can be restored. */
  readonly newestAt: string | null;
}

/** At risk for another reason than age is not called late. */
function verdictOf({ state, reasons }: OverviewProject['protection']): Verdict {
  if (state === 'at_risk') return reasons[0]?.code === 'late' ? 'late' : 'risk';
  return state === 'unprotected' ? 'failing' : state;
}

const order: readonly (Verdict | null)[] = ['failing', 'late', 'risk', null, 'protected', 'manual'];
export const lineDays = 14;

export function useOverview(nowMs: number) {
  const overview = useRead('getOverview', {});
  const projects = useAll('listProjects', {});
  const from = new Date(Math.floor(nowMs / hourMs) * hourMs - lineDays * dayMs).toISOString();
  const backups = useAll('listBackups', { query: { from } });
  const schedules = useAll('listSchedules', { query: { enabled: true } });
  const judgedOf = (id: string) => overview.data?.projects.find((one) => one.id === id);
  const isUnjudged = isUnserved(overview.error);
  // With only some of the answers the verdict would be wrong.
  const isRead =
    backups.rows !== undefined && (overview.data !== undefined || (isUnjudged && schedules.rows !== undefined));
  const rows = (isRead ? projects.rows : undefined)
    ?.map((project) =>
      rowOf(
        project,
        judgedOf(project.id),
        backups.rows?.filter(({ projectId }) => projectId === project.id) ?? [],
        schedules.rows?.find(({ projectId }) => projectId === project.id)?.name ?? null,
      ),
    )
    .sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const error = projects.error ?? backups.error ?? (isUnjudged ? schedules.error : overview.error);
  return {
    rows,
    overview: overview.data,
    error,
    retry: () => void Promise.all([projects.refetch(), backups.refetch(), overview.refetch(), schedules.refetch()]),
  };
}

/** Without the service's verdict the page states only what is certain. */
function rowOf(
  project: Project,
  judged: OverviewProject | undefined,
  backups: readonly Backup[],
  scheduleName: string | null,
): ProjectRow {
  const isRefused = project.connection.status === 'unauthorized';
  const [newest] = goodPoints({ backups });
  return {
    project,
    judged,
    backups,
    scheduleName,
    verdict: judged ? verdictOf(judged.protection) : isRefused ? 'failing' : scheduleName === null ? 'manual' : null,
    reason: judged?.protection.reasons[0],
    newestAt: judged?.newestBackup?.snapshotTime ?? (newest && asOf(newest)) ?? null,
  };
}

export function pointsOf(row: ProjectRow, nextRuns: Overview['nextRuns'] | undefined): LinePoint[] {
  const made = row.backups
    .filter(
      (backup) => backup.trigger !== 'pre_restore' && (backup.status === 'completed' || backup.status === 'failed'),
    )
    .map(
      (backup): LinePoint => ({
        id: backup.id,
        atMs: Date.parse(asOf(backup)),
        kind: backup.status === 'failed' ? 'failed' : backup.type === 'incremental' ? 'increment' : backup.type,
      }),
    );
  const due = (nextRuns ?? [])
    .filter(({ projectId }) => projectId === row.project.id)
    .map((run): LinePoint => ({ id: `${run.scheduleId} ${run.at}`, atMs: Date.parse(run.at), kind: 'due' }));
  const drill = row.judged?.lastDrill;
  return [
    ...made,
    ...due,
    ...(drill?.passed ? [{ id: drill.id, atMs: Date.parse(drill.completedAt), kind: 'drill' as const }] : []),
  ];
}

export function bandsOf({ project }: ProjectRow): LineBand[] {
  const { coveredFrom, coveredTo, gaps } = project.pitr;
  if (!coveredFrom || !coveredTo) return [];
  const any = { kind: 'any' as const, fromMs: Date.parse(coveredFrom), toMs: Date.parse(coveredTo) };
  return [
    any,
    ...gaps.map((gap) => ({ kind: 'gap' as const, fromMs: Date.parse(gap.from), toMs: Date.parse(gap.to) })),
  ];
}

/** Those with the newest data first. A safety backup is none of them. */
export const goodPoints = ({ backups }: Pick<ProjectRow, 'backups'>) =>
  newestDataFirst(backups.filter(({ status, trigger }) => status === 'completed' && trigger !== 'pre_restore'));
