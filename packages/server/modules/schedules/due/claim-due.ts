import type { Transaction } from '../../../platform/database/database.ts';
import { later, minuteMs } from '../../../platform/durations.ts';
import type { OutboxEvent } from '../../../platform/outbox.ts';
import { admitBackups, backupStore, scheduleBackupsStore, type WaitingBackup } from '../../backups/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import { storageStore } from '../../storage/index.ts';
import type { SchedulesContext } from '../context.ts';
import { type DueTime, type NewRun, runStore } from '../run-store.ts';
import { scheduleFailed, scheduleTriggered } from '../schedule-events.ts';
import { type Advance, type ScheduleRow, scheduleStore } from '../schedule-store.ts';
import { type DuePlan, planDue } from './plan-due.ts';
import { scheduledBackup } from './scheduled-backup.ts';

/** Everything that one claim writes, in the transaction that took the due times. */
interface Batch {
  runs: NewRun[];
  backups: { row: WaitingBackup; destinationIds: string[] }[];
  events: OutboxEvent[];
  advances: Advance[];
}

/**
 * Claims up to `limit` due schedules and handles their due times: run, backup, events and the next due time are
 * committed together. Several schedulers may do this at once; a due time is claimed only once. Returns how many
 * schedules were claimed.
 */
export async function claimDue(context: SchedulesContext, limit: number): Promise<number> {
  try {
    return await claim(context, (transaction, now) => scheduleStore.lockDue(transaction, now, limit));
  } catch (error) {
    context.backups.platform.log.error({ err: error }, 'due schedules could not be taken together');
    return claimEach(context, limit);
  }
}

/** One by one, so that a broken schedule does not keep the others from running. */
async function claimEach(context: SchedulesContext, limit: number): Promise<number> {
  const { database, clock, log } = context.backups.platform;
  const due = await database.system((transaction) => scheduleStore.lockDue(transaction, clock.now(), limit));
  let claimed = 0;
  for (const { organizationId, id } of due)
    try {
      claimed += await claim(context, (transaction, now) =>
        scheduleStore.lockDueOf(transaction, organizationId, id, now),
      );
    } catch (error) {
      log.error({ err: error, scheduleId: id }, 'the due times of a schedule could not be taken');
    }
  return claimed;
}

/** The same for one schedule, before its time is changed: due times from before the change must not be lost. */
export async function claimDueOf(context: SchedulesContext, organizationId: string, scheduleId: string): Promise<void> {
  const claimed = await claim(context, (transaction, now) =>
    scheduleStore.lockDueOf(transaction, organizationId, scheduleId, now),
  );
  if (claimed > 0) await admitBackups(context.backups.platform);
}

/** The same for schedules of a project: for some of them, when many are due. */
export async function claimDueOfProject(
  context: SchedulesContext,
  organizationId: string,
  projectId: string,
): Promise<void> {
  const claimed = await claim(context, (transaction, now) => dueOfProject(transaction, organizationId, projectId, now));
  if (claimed > 0) await admitBackups(context.backups.platform);
}

/** Schedules read at once: each may name many collections. */
const ofProjectAtOnce = 250;

/** Some due schedules of a project. Locks all its schedules until the end of the transaction. */
export function dueOfProject(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
  now: Date,
): Promise<ScheduleRow[]> {
  return scheduleStore.lockOfProject(transaction, organizationId, projectId, { now, limit: ofProjectAtOnce });
}

async function claim(
  context: SchedulesContext,
  lock: (transaction: Transaction, now: Date) => Promise<ScheduleRow[]>,
): Promise<number> {
  const { database, clock } = context.backups.platform;
  return database.system(async (transaction) => {
    const now = clock.now();
    const due = await lock(transaction, now);
    if (due.length === 0) return 0;
    const plans = due.map((row) => ({ row, plan: planDue({ ...row, nextRunAt: row.nextRunAt as Date }, now) }));
    const untaken = await withoutTaken(transaction, plans, now);
    const facts = await loadFacts(context, transaction, due);
    const batch: Batch = { runs: [], backups: [], events: [], advances: [] };
    for (const { row, plan } of untaken) decide(context, facts, row, plan, now, batch);
    await write(context, transaction, batch);
    return due.length;
  });
}

interface Planned {
  row: ScheduleRow;
  plan: DuePlan;
}

/** When clocks differ or were set back, a due time may come twice; it gets only one run. */
async function withoutTaken(transaction: Transaction, plans: readonly Planned[], now: Date): Promise<Planned[]> {
  const dueTimes = plans.flatMap(({ row: { id }, plan: { missed, passedOver, trigger } }) =>
    [...missed, ...passedOver, ...(trigger ? [trigger] : [])].map((dueAt) => ({ scheduleId: id, dueAt })),
  );
  const taken = new Set((await runStore.taken(transaction, dueTimes, now)).map(keyOf));
  return plans.map(({ row, plan }) => {
    const isFree = (dueAt: Date) => !taken.has(keyOf({ scheduleId: row.id, dueAt }));
    const trigger = plan.trigger && isFree(plan.trigger) ? plan.trigger : null;
    const [missed, passedOver] = [plan.missed.filter(isFree), plan.passedOver.filter(isFree)];
    return { row, plan: { ...plan, trigger, missed, passedOver } };
  });
}

function keyOf({ scheduleId, dueAt }: DueTime): string {
  return `${scheduleId}/${dueAt.getTime()}`;
}

interface Facts {
  organizations: ReadonlyMap<string, { defaultStorageId: string | null }>;
  projects: ReadonlyMap<string, ProjectRow>;
  /** The place of each that exists, by `<organization>/<destination>`. */
  places: ReadonlyMap<string, string>;
  busy: ReadonlySet<string>;
  owingFull: ReadonlySet<string>;
}

async function loadFacts(
  context: SchedulesContext,
  transaction: Transaction,
  due: readonly ScheduleRow[],
): Promise<Facts> {
  const unique = (values: readonly string[]) => [...new Set(values)];
  const organizations = await context.organizations.activeOf(transaction, unique(due.map((row) => row.organizationId)));
  const named = due.flatMap((row) => row.storageDestinationIds);
  const defaults = [...organizations.values()].flatMap(({ defaultStorageId }) => defaultStorageId ?? []);
  const projects = await projectStore.many(transaction, unique(due.map((row) => row.projectId)));
  const existing = await storageStore.existing(transaction, unique([...named, ...defaults]));
  return {
    organizations,
    projects: new Map(projects.map((row) => [row.id, row])),
    places: new Map(existing.map(({ organizationId, id, placeId }) => [`${organizationId}/${id}`, placeId ?? id])),
    busy: await scheduleBackupsStore.busy(
      transaction,
      due.map(({ id }) => id),
    ),
    owingFull: await scheduleBackupsStore.owingFull(transaction, due),
  };
}

function decide(
  context: SchedulesContext,
  facts: Facts,
  row: ScheduleRow,
  plan: DuePlan,
  now: Date,
  batch: Batch,
): void {
  const organization = facts.organizations.get(row.organizationId);
  const project = facts.projects.get(row.projectId);
  // For a deleted organization nothing runs, and nothing counts as missed when it is recovered.
  if (!organization || project?.organizationId !== row.organizationId) {
    batch.advances.push({ id: row.id, nextRunAt: plan.next, runCount: row.runCount, lastRun: null });
    return;
  }
  const inEvent = { row: { ...row, nextRunAt: plan.next }, project, now };
  const runs = overdueRuns(context, row, plan, now);
  for (const run of runs)
    if (run.status === 'missed') batch.events.push(scheduleFailed(inEvent, run.reason as string, run.dueAt));
  let { runCount } = row;
  if (plan.trigger) {
    const started = startRun(context, facts, row, project, organization.defaultStorageId, plan.trigger, now);
    runs.push(started.run);
    if (started.backup) {
      runCount++;
      batch.backups.push(started.backup);
      batch.events.push(scheduleTriggered(inEvent, { backupId: started.backup.row.id, trigger: 'scheduled' }));
    } else if (started.run.status === 'failed')
      batch.events.push(scheduleFailed(inEvent, started.run.reason as string, plan.trigger));
  }
  batch.runs.push(...runs);
  const last = runs.at(-1);
  batch.advances.push({
    id: row.id,
    nextRunAt: plan.next,
    runCount,
    lastRun: last
      ? { runId: last.id, dueAt: last.dueAt.toISOString(), status: last.status, backupId: last.backupId ?? null }
      : null,
  });
}

/** Runs for due times that start no backup, oldest first. */
function overdueRuns(context: SchedulesContext, row: ScheduleRow, plan: DuePlan, now: Date): NewRun[] {
  const base = { organizationId: row.organizationId, scheduleId: row.id, byHand: false, createdAt: now };
  const { ids } = context.backups.platform;
  const missed = plan.missed.map((dueAt, index) => ({
    ...base,
    id: ids.next('run'),
    dueAt,
    status: 'missed' as const,
    reason: `No scheduler was running when it was due.${index === 0 && plan.missedBefore ? ' Earlier runs were missed too.' : ''}`,
  }));
  const passedOver = plan.passedOver.map((dueAt) => ({
    ...base,
    id: ids.next('run'),
    dueAt,
    status: 'skipped' as const,
    reason: 'It was late, and a later due time had come in the meantime.',
  }));
  return [...missed, ...passedOver];
}

function startRun(
  context: SchedulesContext,
  facts: Facts,
  row: ScheduleRow,
  project: ProjectRow,
  defaultStorageId: string | null,
  dueAt: Date,
  now: Date,
): { run: NewRun; backup?: Batch['backups'][number] } {
  const { ids } = context.backups.platform;
  const { organizationId } = row;
  const run = { id: ids.next('run'), organizationId, scheduleId: row.id, dueAt, byHand: false, createdAt: now };
  if (facts.busy.has(row.id))
    return { run: { ...run, status: 'skipped', reason: "The schedule's backup before it was still running." } };
  const wanted = row.storageDestinationIds.length > 0 ? row.storageDestinationIds : [defaultStorageId ?? ''];
  const destinationIds = onePerPlace(wanted, (id) => facts.places.get(`${organizationId}/${id}`));
  const [destinationId] = destinationIds;
  if (destinationId === undefined)
    return { run: { ...run, status: 'failed', reason: 'There is no storage destination to write to.' } };
  const number = row.runCount + 1;
  const backupId = ids.next('bkp');
  const owesFull = facts.owingFull.has(row.id);
  const asked = { id: backupId, number, trigger: 'scheduled' as const, destinationId, owesFull, now };
  return {
    run: {
      ...run,
      status: 'triggered',
      startedAt: now,
      backupId,
      number,
      beginsBefore: later(now, row.missedAfterMinutes * minuteMs),
    },
    backup: { row: scheduledBackup(row, project, asked), destinationIds },
  };
}

/** Those that exist; of several that name one place the first, as in a backup by hand. */
function onePerPlace(destinationIds: readonly string[], placeOf: (id: string) => string | undefined): string[] {
  const chosen = new Map<string, string>();
  for (const id of destinationIds) {
    const place = placeOf(id);
    if (place !== undefined && !chosen.has(place)) chosen.set(place, id);
  }
  return [...chosen.values()];
}

async function write(context: SchedulesContext, transaction: Transaction, batch: Batch): Promise<void> {
  await backupStore.insertAll(transaction, batch.backups);
  await runStore.insertAll(transaction, batch.runs);
  await scheduleStore.advance(transaction, batch.advances);
  await context.backups.platform.outbox.emitAll(transaction, batch.events);
  const ordered = batch.backups.toSorted((left, right) =>
    left.row.organizationId < right.row.organizationId ? -1 : 1,
  );
  // Sent one after another, without waiting for each answer.
  await Promise.all(
    ordered.map(({ row, destinationIds }) =>
      context.backups.audit.noteSystem(transaction, row.organizationId, {
        action: 'backup.created',
        resource: { type: 'backup', id: row.id },
        details: {
          projectId: row.projectId,
          type: row.type,
          storageDestinationIds: destinationIds,
          scheduleId: row.scheduleId,
        },
      }),
    ),
  );
}
