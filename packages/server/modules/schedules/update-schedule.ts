import { isDeepStrictEqual } from 'node:util';
import type { BodyOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { defined } from '../../platform/defined.ts';
import type { Caller } from '../../platform/principal.ts';
import { retentionStore } from '../backups/index.ts';
import { projectStore } from '../projects/index.ts';
import { firstRun, fullEveryDefault, requireDestinations, requireExclusions } from './check-settings.ts';
import type { SchedulesContext } from './context.ts';
import { claimDueOf } from './due/claim-due.ts';
import { presentSchedule, scheduleEtag } from './present-schedule.ts';
import { retentionCheckStore } from './retention/retention-check-store.ts';
import { scheduleChanged } from './schedule-events.ts';
import { type NewSchedule, type ScheduleRow, scheduleStore } from './schedule-store.ts';

type Change = BodyOf<Operations['updateSchedule']>;

/**
 * Changes only the given fields; without a real change there is no event. A new time counts from now, so due times from
 * before are claimed first.
 */
export async function updateSchedule(
  context: SchedulesContext,
  caller: Caller,
  scheduleId: string,
  change: Change,
  requireMatch: (etag: string) => void,
): Promise<ScheduleRow> {
  for (;;) {
    const updated = await updateUnlessDue(context, caller, scheduleId, change, requireMatch);
    if (updated) return updated;
    await claimDueOf(context, caller.organization.id, scheduleId);
  }
}

async function updateUnlessDue(
  context: SchedulesContext,
  caller: Caller,
  scheduleId: string,
  change: Change,
  requireMatch: (etag: string) => void,
): Promise<ScheduleRow | undefined> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  return platform.database.tenant(organizationId, async (transaction) => {
    const before = await scheduleStore.lock(transaction, organizationId, scheduleId);
    const now = platform.clock.now();
    if (changesTime(before, change) && before.nextRunAt && before.nextRunAt <= now) return undefined;
    requireMatch(scheduleEtag(presentSchedule(before, now)));
    const columns = await columnsOf(transaction, before, change, now);
    requireExclusions({ ...before, ...columns });
    if (isAsBefore(before, columns)) return before;
    const row = await scheduleStore.update(transaction, organizationId, scheduleId, { ...columns, updatedAt: now });
    const project = await projectStore.findKept(transaction, organizationId, row.projectId);
    if (row.retentionDays !== before.retentionDays)
      await retentionStore.setTerms(transaction, organizationId, row.id, row.retentionDays);
    if (changesRetention(before, row))
      await retentionCheckStore.request(transaction, organizationId, row.projectId, now);
    if (before.enabled && !row.enabled) await context.onSwitchedOff(transaction, row);
    if (project) await platform.outbox.emit(transaction, scheduleChanged('schedule.updated', { row, project, now }));
    await audit.noteCaller(transaction, caller, {
      action: 'schedule.updated',
      resource: { type: 'schedule', id: scheduleId },
      details: { name: row.name, projectId: row.projectId, fields: Object.keys(change), enabled: row.enabled },
    });
    return row;
  });
}

async function columnsOf(
  transaction: Transaction,
  before: ScheduleRow,
  change: Change,
  now: Date,
): Promise<Partial<NewSchedule>> {
  const { storageDestinationId, storageDestinationIds, retention, retentionPolicy, fullEvery, ...rest } = change;
  const plain = defined(rest);
  const columns: Partial<NewSchedule> = { ...plain };
  if (storageDestinationId !== undefined || storageDestinationIds !== undefined) {
    const ids = storageDestinationIds ?? [storageDestinationId ?? []].flat();
    columns.storageDestinationIds = await requireDestinations(transaction, before.organizationId, ids);
  }
  // Retention by days replaces the policy and the other way round; null removes the named one.
  if (retention !== undefined) columns.retentionDays = retention;
  if (retentionPolicy !== undefined) columns.retentionPolicy = retentionPolicy;
  if (retention) columns.retentionPolicy = null;
  if (retentionPolicy) columns.retentionDays = null;
  const ofIncrements = (change.type ?? before.type) === 'incremental' ? fullEveryDefault : null;
  columns.fullEvery = (fullEvery === undefined ? before.fullEvery : fullEvery) ?? ofIncrements;
  if (changesTime(before, change)) {
    columns.nextRunAt = firstRun({ ...before, ...plain }, now);
    columns.promisedSince = now;
  }
  if (change.drillEvery !== undefined && change.drillEvery !== before.drillEvery) columns.drillsSince = now;
  return columns;
}

function isAsBefore(before: ScheduleRow, columns: Partial<NewSchedule>): boolean {
  const entries = Object.entries(columns) as [keyof ScheduleRow, unknown][];
  return entries.every(([column, value]) => isDeepStrictEqual(value, before[column]));
}

function changesTime(before: ScheduleRow, change: Change): boolean {
  const after = { ...before, ...defined(change) };
  return after.cron !== before.cron || after.timezone !== before.timezone || after.enabled !== before.enabled;
}

function changesRetention(before: ScheduleRow, after: ScheduleRow): boolean {
  return (
    before.retentionDays !== after.retentionDays ||
    before.timezone !== after.timezone ||
    JSON.stringify(before.retentionPolicy) !== JSON.stringify(after.retentionPolicy)
  );
}
