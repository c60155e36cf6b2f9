import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../http/call.ts';
import { pageOf } from '../../platform/cursor.ts';
import type { SchedulesContext } from './context.ts';
import { createSchedule } from './create-schedule.ts';
import { deleteSchedule } from './delete-schedule.ts';
import { presentRun, presentSchedule, scheduleEtag } from './present-schedule.ts';
import { previewSchedule } from './preview-schedule.ts';
import { unfreezeRetention } from './retention/anomalies.ts';
import { previewRetention } from './retention/preview-retention.ts';
import { runSchedule } from './run-schedule.ts';
import { runStore } from './run-store.ts';
import { type ScheduleRow, scheduleStore } from './schedule-store.ts';
import { updateSchedule } from './update-schedule.ts';

export function scheduleHandlers(context: SchedulesContext): Handlers {
  return { ...settingsHandlers(context), ...runHandlers(context) };
}

function settingsHandlers(context: SchedulesContext): Handlers {
  const { database, cursors, clock } = context.backups.platform;
  const answer = (row: ScheduleRow) => {
    const data = presentSchedule(row, clock.now());
    return { data, etag: scheduleEtag(data) };
  };
  return {
    listSchedules: async ({ organization, query }) => {
      const filters = { projectId: query.projectId, enabled: query.enabled };
      const { limit, cursor } = query;
      const page = await cursors.page(
        { list: 'schedules', filters: [organization.id, filters], limit, cursor },
        (count, before) => scheduleStore.page(database, organization.id, { limit: count, before, filters }),
      );
      const now = clock.now();
      return { data: page.rows.map((row) => presentSchedule(row, now)), nextCursor: page.nextCursor };
    },
    createSchedule: async (call) => {
      const row = await createSchedule(context, call, call.body);
      return { ...answer(row), location: pathOf('getSchedule', { scheduleId: row.id }) };
    },
    getSchedule: async ({ organization, params }) =>
      answer(
        await database.tenant(organization.id, (transaction) =>
          scheduleStore.get(transaction, organization.id, params.scheduleId),
        ),
      ),
    updateSchedule: async (call) =>
      answer(await updateSchedule(context, call, call.params.scheduleId, call.body, call.requireMatch)),
    deleteSchedule: async (call) => {
      const { requireMatch, query } = call;
      const deleteBackups = query.deleteBackups ?? false;
      const backups = await deleteSchedule(context, call, call.params.scheduleId, { requireMatch, deleteBackups });
      const gone = backups === 1 ? '1 backup' : `${backups} backups`;
      return { message: `The schedule was deleted${deleteBackups ? `; ${gone} went with it` : ''}.` };
    },
    previewSchedule: async ({ organization, body }) => {
      const known = await database.tenant(organization.id, (transaction) =>
        context.organizations.activeOf(transaction, [organization.id]),
      );
      const timezone = body.timezone ?? known.get(organization.id)?.timezone ?? 'UTC';
      return { data: previewSchedule(body.cron, timezone, body.count, clock.now()) };
    },
  };
}

function runHandlers(context: SchedulesContext): Handlers {
  const { database, cursors } = context.backups.platform;
  return {
    runSchedule: async (call) => {
      const backupId = await runSchedule(context, call, call.params.scheduleId);
      const data = await context.presentBackup(call.organization.id, backupId);
      return { data, location: pathOf('getBackup', { backupId }) };
    },
    listScheduleRuns: async ({ organization, params, query }) => {
      const bound = [organization.id, params.scheduleId];
      const [dueAt = '', id = ''] = (cursors.read('schedule runs', bound, query.cursor) ?? '').split(' ');
      const rows = await database.tenant(organization.id, async (transaction) => {
        await scheduleStore.get(transaction, organization.id, params.scheduleId);
        const before = id === '' ? undefined : { dueAt, id };
        return runStore.list(transaction, organization.id, params.scheduleId, query.limit + 1, before);
      });
      const page = pageOf(rows, query.limit, (row) =>
        cursors.write('schedule runs', bound, `${row.dueAt.toISOString()} ${row.id}`),
      );
      return { data: page.rows.map(presentRun), nextCursor: page.nextCursor };
    },
    previewRetention: async ({ organization, params, query }) => {
      const bound = [organization.id, params.scheduleId];
      const start = Number(cursors.read('retention preview', bound, query.cursor) ?? 0);
      const all = await previewRetention(context, organization.id, params.scheduleId);
      const end = start + query.limit;
      const nextCursor = end < all.length ? cursors.write('retention preview', bound, String(end)) : null;
      return { data: all.slice(start, end), nextCursor };
    },
    unfreezeRetention: async (call) => {
      const row = await unfreezeRetention(context, call, call.params.projectId);
      return { data: await context.presentProject(row) };
    },
  };
}
