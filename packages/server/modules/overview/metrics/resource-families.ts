import type { MetricFamily, MetricSample } from '../../../platform/metric-family.ts';
import type { MeasuredBackup } from '../../backups/index.ts';
import type { ReachedLog } from '../../pitr/index.ts';
import type { MeasuredProject } from '../../projects/index.ts';
import type { MeasuredSchedule } from '../../schedules/index.ts';

const gauge = (name: string, help: string, samples: readonly MetricSample[]): MetricFamily => ({
  name,
  help,
  type: 'gauge',
  samples,
});
const inSeconds = (instant: Date | string) => new Date(instant).getTime() / 1000;
const ofProject = ({ organizationId, id }: MeasuredProject) => ({ organization: organizationId, project: id });
const ofSchedule = ({ organizationId, projectId, id }: MeasuredSchedule) => ({
  organization: organizationId,
  project: projectId,
  schedule: id,
});

interface ProjectFacts {
  projects: readonly MeasuredProject[];
  drills: ReadonlyMap<string, Date>;
  logs: readonly ReachedLog[];
  now: Date;
}

export function projectFamilies({ projects, drills, logs, now }: ProjectFacts): MetricFamily[] {
  const ofLog = (log: ProjectFacts['logs'][number]) => ({ organization: log.organizationId, project: log.projectId });
  return [
    gauge(
      'holdfast_project_info',
      'Projects and their names.',
      projects.map((project) => ({ labels: { ...ofProject(project), name: project.name }, value: 1 })),
    ),
    gauge(
      'holdfast_retention_frozen',
      '1 while retention removes nothing of a project, because a backup looked suspicious.',
      projects.map((project) => ({ labels: ofProject(project), value: project.isFrozen ? 1 : 0 })),
    ),
    gauge(
      'holdfast_drill_last_success_timestamp_seconds',
      'When a drill last proved a backup of the project.',
      projects.flatMap((project) => {
        const at = drills.get(project.id);
        return at ? [{ labels: ofProject(project), value: inSeconds(at) }] : [];
      }),
    ),
    gauge(
      'holdfast_pitr_covered_through_timestamp_seconds',
      'Up to when moments can be recovered; absent while none can.',
      logs.flatMap((log) =>
        log.reachedThrough === null ? [] : [{ labels: ofLog(log), value: inSeconds(log.reachedThrough) }],
      ),
    ),
    gauge(
      'holdfast_pitr_lag_seconds',
      'How long ago the newest moment is that can be recovered; without one, when capture began.',
      logs.map((log) => ({
        labels: ofLog(log),
        value: Math.max(0, inSeconds(now) - inSeconds(log.reachedThrough ?? log.startedFrom)),
      })),
    ),
  ];
}

/** A schedule that is switched off has no expected interval. */
export function scheduleFamilies(
  schedules: readonly MeasuredSchedule[],
  intervals: readonly (number | undefined)[],
): MetricFamily[] {
  const promised = schedules.flatMap((schedule, index) => {
    const seconds = intervals[index];
    return schedule.isEnabled && seconds !== undefined ? [{ schedule, seconds }] : [];
  });
  return [
    gauge(
      'holdfast_schedule_info',
      'Schedules and their names.',
      schedules.map((schedule) => ({ labels: { ...ofSchedule(schedule), name: schedule.name }, value: 1 })),
    ),
    gauge(
      'holdfast_schedule_promised_since_timestamp_seconds',
      'Since when the schedule promises its due times; no backup is missed before then.',
      schedules.map((schedule) => ({ labels: ofSchedule(schedule), value: inSeconds(schedule.promisedSince) })),
    ),
    gauge(
      'holdfast_schedule_expected_interval_seconds',
      'The longest time that may lie between two of its backups now, by its own due times. Absent while it is switched off.',
      promised.map(({ schedule, seconds }) => ({ labels: ofSchedule(schedule), value: seconds })),
    ),
    gauge(
      'holdfast_drill_expected_interval_seconds',
      'How often the schedule asks for a drill.',
      promised.flatMap(({ schedule, seconds }) =>
        schedule.drillEvery ? [{ labels: ofSchedule(schedule), value: seconds * schedule.drillEvery }] : [],
      ),
    ),
    gauge(
      'holdfast_drill_promised_since_timestamp_seconds',
      'Since when the schedule asks for drills this often; none is missed before then.',
      promised.flatMap(({ schedule }) =>
        schedule.drillEvery ? [{ labels: ofSchedule(schedule), value: inSeconds(schedule.drillsSince) }] : [],
      ),
    ),
  ];
}

interface BackupFacts {
  projects: readonly MeasuredProject[];
  schedules: readonly MeasuredSchedule[];
  ofSchedules: readonly MeasuredBackup[];
  byHand: readonly MeasuredBackup[];
}

/** Manual backups have an empty schedule label. */
export function backupFamilies({ projects, schedules, ofSchedules, byHand }: BackupFacts): MetricFamily[] {
  const labels = new Map<string, Record<string, string>>([
    ...projects.map((project) => [project.id, { ...ofProject(project), schedule: '' }] as const),
    ...schedules.map((schedule) => [schedule.id, ofSchedule(schedule)] as const),
  ]);
  const samples = (backups: readonly MeasuredBackup[], figureOf: (backup: MeasuredBackup) => number | null) =>
    backups.flatMap((backup) => {
      const value = figureOf(backup);
      return value === null ? [] : [{ labels: labels.get(backup.key)!, value }];
    });
  const both = [...ofSchedules, ...byHand];
  return [
    gauge(
      'holdfast_backup_last_success_timestamp_seconds',
      'When the newest good backup that is still there was completed.',
      samples(both, ({ completedAt }) => completedAt && inSeconds(completedAt)),
    ),
    gauge(
      'holdfast_backup_newest_snapshot_timestamp_seconds',
      'As of when the newest data of a good backup that is still there is: what can be got back is as old as this.',
      samples(both, ({ asOf }) => asOf && inSeconds(asOf)),
    ),
    gauge(
      'holdfast_backup_duration_seconds',
      'How long the newest good backup took.',
      samples(both, ({ durationSeconds }) => durationSeconds),
    ),
    gauge(
      'holdfast_backup_stored_bytes',
      'What the newest good backup takes in storage.',
      samples(both, ({ storedBytes }) => storedBytes),
    ),
    gauge(
      'holdfast_schedule_failures_in_a_row',
      'How many backups of the schedule failed since the last good one.',
      samples(ofSchedules, ({ failuresInRow }) => failuresInRow),
    ),
  ];
}
