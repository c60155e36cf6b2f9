import type { DataOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { later, minuteMs } from '../../platform/durations.ts';
import { type NewestBackups, newestBackups, scheduleBackupsStore, suspiciousBackups } from '../backups/index.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import { drillStore, presentDrill } from '../restores/index.ts';
import {
  lastDueTimes,
  nextRun,
  parseCron,
  type ScheduleSummary,
  scheduleStore,
  typeOfRun,
} from '../schedules/index.ts';
import { type DestinationRow, storageStore } from '../storage/index.ts';
import type { OverviewContext } from './context.ts';
import { judge, type Rhythm } from './protection.ts';
import { readersOfDays, usageOf } from './usage.ts';

type Overview = DataOf<Operations['getOverview']>;
type OverviewProject = Overview['projects'][number];

const projectsMax = 1000;
const schedulesMax = 5000;
const nextRunsMax = 100;
const sliceMs = 5;
const worstFirst: readonly OverviewProject['protection']['state'][] = ['unprotected', 'at_risk', 'protected', 'manual'];

const notCaptured: OverviewProject['pitr'] = {
  enabled: false,
  status: 'stopped',
  coveredFrom: null,
  coveredTo: null,
  gaps: [],
};

/** The state of everything, in one snapshot. */
export async function getOverview(context: OverviewContext, organizationId: string): Promise<Overview> {
  const { database, clock } = context.platform;
  const now = clock.now();
  const { projects, schedules, found, ...rest } = await database.tenant(organizationId, async (transaction) => {
    const projects = await projectStore.all(transaction, organizationId, projectsMax);
    const schedules = await scheduleStore.all(transaction, organizationId, schedulesMax);
    return {
      projects,
      schedules,
      found: await findFacts(context, transaction, organizationId, projects),
      nextRuns: await nextRunsOf(transaction, schedules),
      days: (await usageOf(transaction, organizationId, now)).map(
        ({ day, storedBytes, storedByDestination, readsUsed }) => ({
          day,
          storedBytes,
          storedByDestination,
          readsUsed,
        }),
      ),
      readsByProject: await readersOfDays(transaction, organizationId, now),
    };
  });
  const rhythms = await rhythmsOf(context, organizationId, schedules, now);
  const ofProjects = Map.groupBy(schedules, ({ projectId }) => projectId);
  const shown = projects.map((project) =>
    presentProject(project, ofProjects.get(project.id) ?? [], { ...found, rhythms }, now),
  );
  return { projects: shown.sort((a, b) => rank(a) - rank(b)), ...rest };
}

async function nextRunsOf(
  transaction: Transaction,
  schedules: readonly ScheduleSummary[],
): Promise<Overview['nextRuns']> {
  const next = schedules.filter(({ nextRunAt }) => nextRunAt !== null).slice(0, nextRunsMax);
  const owing = await scheduleBackupsStore.owingFull(transaction, next);
  return next.map((row) => ({
    scheduleId: row.id,
    name: row.name,
    projectId: row.projectId,
    at: row.nextRunAt!.toISOString(),
    type: typeOfRun(row, { number: row.runCount + 1, owesFull: owing.has(row.id) }),
  }));
}

const rank = ({ protection }: OverviewProject) => worstFirst.indexOf(protection.state);

interface Found {
  newest: ReadonlyMap<string, NewestBackups>;
  pitr: ReadonlyMap<string, OverviewProject['pitr']>;
  drills: ReadonlyMap<string, ReturnType<typeof presentDrill>>;
  anomalies: ReadonlyMap<string, OverviewProject['anomalies']>;
  destinations: readonly DestinationRow[];
  defaultStorageId: string | null;
  /** Of the enabled schedules, by schedule. */
  rhythms: ReadonlyMap<string, Rhythm>;
}

async function findFacts(
  context: OverviewContext,
  transaction: Transaction,
  organizationId: string,
  projects: readonly ProjectRow[],
): Promise<Omit<Found, 'rhythms'>> {
  const ids = projects.map(({ id }) => id);
  // Somebody who released retention has looked at everything before.
  const frozen = projects.filter(({ retentionFrozen }) => retentionFrozen !== null).map(({ id }) => id);
  const suspicious = await suspiciousBackups(transaction, organizationId, frozen);
  const drills = await drillStore.newestOfProjects(transaction, organizationId);
  return {
    newest: await newestBackups(
      transaction,
      organizationId,
      ids,
      await context.withdrawnKeysOf(transaction, organizationId),
    ),
    pitr: await context.pitrOf(transaction, organizationId, ids),
    drills: new Map(drills.map((row) => [row.projectId, presentDrill(row)])),
    anomalies: Map.groupBy(
      suspicious.map(({ id, projectId, anomaly, completedAt }) => ({
        ...anomaly,
        projectId,
        backupId: id,
        at: completedAt.toISOString(),
      })),
      ({ projectId }) => projectId,
    ),
    destinations: await storageStore.all(transaction, organizationId),
    defaultStorageId: await context.defaultStorageOf(transaction, organizationId),
  };
}

function presentProject(
  project: ProjectRow,
  schedules: readonly ScheduleSummary[],
  found: Found,
  now: Date,
): OverviewProject {
  const { newest, failuresInRow, isSealed, isDamaged } = found.newest.get(project.id) ?? {
    newest: null,
    failuresInRow: 0,
    isSealed: false,
    isDamaged: false,
  };
  const pitr = found.pitr.get(project.id) ?? notCaptured;
  const drill = found.drills.get(project.id);
  const anomalies = found.anomalies.get(project.id) ?? [];
  const running = schedules
    .map((schedule) => ({ schedule, rhythm: found.rhythms.get(schedule.id) }))
    .filter((each): each is { schedule: ScheduleSummary; rhythm: Rhythm } => each.rhythm !== undefined);
  const enabled = running.map(({ schedule }) => schedule);
  const [often] = running.sort((a, b) => a.rhythm.intervalMs - b.rhythm.intervalMs);
  return {
    id: project.id,
    name: project.name,
    protection: judge(
      {
        connection: project.connectionStatus,
        scheduleCount: schedules.length,
        rhythm: often?.rhythm ?? null,
        newest,
        failuresInRow,
        isSealed,
        isDamaged,
        isStorageBroken: isStorageBroken(enabled, found),
        isStorageMissing:
          found.defaultStorageId === null && enabled.some((schedule) => schedule.storageDestinationIds.length === 0),
        isCaptureBroken: pitr.enabled && (pitr.status === 'error' || pitr.status === 'stopped'),
        hasAnomaly: project.retentionFrozen !== null,
      },
      now,
    ),
    newestBackup: newest && {
      id: newest.id,
      type: newest.type,
      snapshotTime: newest.asOf.toISOString(),
      completedAt: newest.completedAt.toISOString(),
      documentCount: newest.documentCount,
      verifiedAt: newest.verifiedAt?.toISOString() ?? null,
    },
    schedule: often
      ? {
          id: often.schedule.id,
          name: often.schedule.name,
          intervalSeconds: Math.round(often.rhythm.intervalMs / 1000),
          nextRunAt: often.schedule.nextRunAt!.toISOString(),
        }
      : null,
    pitr,
    lastDrill: drill?.completedAt
      ? { id: drill.id, backupId: drill.backupId, passed: drill.passed === true, completedAt: drill.completedAt }
      : null,
    anomalies: anomalies.map(({ reason, before, after, backupId, at }) => ({ reason, before, after, backupId, at })),
    retentionFrozen: project.retentionFrozen,
  };
}

/** Thousands of schedules take a second to compute, so other calls are answered in between. */
async function rhythmsOf(
  { platform: { cpuTurns } }: OverviewContext,
  organizationId: string,
  schedules: readonly ScheduleSummary[],
  now: Date,
): Promise<ReadonlyMap<string, Rhythm>> {
  const rhythms = new Map<string, Rhythm>();
  let sliceEndsMs = performance.now() + sliceMs;
  for (const schedule of schedules) {
    if (!schedule.enabled || schedule.nextRunAt === null) continue;
    if (performance.now() > sliceEndsMs) {
      await cpuTurns.take(organizationId);
      sliceEndsMs = performance.now() + sliceMs;
    }
    rhythms.set(schedule.id, rhythmOf(schedule, now));
  }
  return rhythms;
}

function rhythmOf(schedule: ScheduleSummary, now: Date): Rhythm {
  const { cron, timezone, missedAfterMinutes } = schedule;
  const promisedSince = schedule.promisedSince ?? schedule.createdAt;
  const expression = parseCron(cron);
  const hadToBeginBy = later(now, -missedAfterMinutes * minuteMs);
  const [lastDue, dueBefore] = lastDueTimes(expression, timezone, hadToBeginBy, 2);
  const [previous] = lastDueTimes(expression, timezone, now, 1);
  const next = nextRun(expression, timezone, now) ?? now;
  return {
    intervalMs: next.getTime() - (previous ?? promisedSince).getTime(),
    missedAfterMinutes,
    // A due time from before the schedule was enabled is not missed.
    lastDue: lastDue && lastDue >= promisedSince ? lastDue : null,
    dueBefore: dueBefore ?? null,
  };
}

function isStorageBroken(schedules: readonly ScheduleSummary[], { destinations, defaultStorageId }: Found): boolean {
  const used = new Set(
    schedules.flatMap(({ storageDestinationIds }) =>
      storageDestinationIds.length > 0 ? storageDestinationIds : defaultStorageId ? [defaultStorageId] : [],
    ),
  );
  return destinations.some(({ id, status }) => used.has(id) && status === 'error');
}
