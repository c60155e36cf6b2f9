import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, created, done, list, ok, operation } from '../operation.ts';
import { backup } from '../schemas/backups.ts';
import { pageQuery, pathId } from '../schemas/primitives.ts';
import {
  createScheduleRequest,
  deleteScheduleQuery,
  listSchedulesQuery,
  previewScheduleRequest,
  retentionPreviewEntry,
  schedule,
  schedulePreview,
  scheduleRun,
  updateScheduleRequest,
} from '../schemas/schedules.ts';

const tag = 'Schedules';
const params = z.object({ scheduleId: pathId() });
const reads = member('viewer', 'schedules:read');
const manages = member('member', 'schedules:write');

export const listSchedules = operation({
  id: 'listSchedules',
  method: 'GET',
  path: api('/schedules'),
  tag,
  summary: 'List schedules',
  description: 'Newest first.',
  access: reads,
  query: listSchedulesQuery,
  success: list(schedule),
  errors: [],
});

export const createSchedule = operation({
  id: 'createSchedule',
  method: 'POST',
  path: api('/schedules'),
  tag,
  summary: 'Create a schedule',
  description:
    'Changes to and from daylight saving time neither skip nor repeat a run. The operator limits the number of schedules (10,000 by default); then LIMIT_REACHED.',
  access: manages,
  body: createScheduleRequest,
  success: created(schedule),
  location: true,
  errors: ['PROJECT_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND', 'LIMIT_REACHED'],
});

export const previewSchedule = operation({
  id: 'previewSchedule',
  method: 'POST',
  path: api('/schedules/preview'),
  tag,
  summary: 'Show the next runs of an expression',
  description: 'Nothing is stored.',
  access: reads,
  body: previewScheduleRequest,
  success: ok(schedulePreview),
  errors: [],
});

export const getSchedule = operation({
  id: 'getSchedule',
  method: 'GET',
  path: api('/schedules/{scheduleId}'),
  tag,
  summary: 'Show a schedule',
  description: 'With its next run.',
  access: reads,
  params,
  success: ok(schedule),
  etag: true,
  errors: ['SCHEDULE_NOT_FOUND'],
});

export const updateSchedule = operation({
  id: 'updateSchedule',
  method: 'PATCH',
  path: api('/schedules/{scheduleId}'),
  tag,
  summary: 'Change a schedule',
  description: 'Only the fields that are given change.',
  access: manages,
  params,
  body: updateScheduleRequest,
  success: ok(schedule),
  etag: true,
  errors: ['SCHEDULE_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND'],
});

export const deleteSchedule = operation({
  id: 'deleteSchedule',
  method: 'DELETE',
  path: api('/schedules/{scheduleId}'),
  tag,
  summary: 'Delete a schedule',
  description:
    'Its backups stay, unless `deleteBackups` is true. This also needs the right to delete backups: the role admin, or the scope `backups:delete`. Either all are deleted or none: RESOURCE_IN_USE if something reads one of them, INVALID_STATE if one is under legal hold or object lock.',
  access: manages,
  params,
  query: deleteScheduleQuery,
  success: done,
  etag: true,
  errors: ['SCHEDULE_NOT_FOUND', 'RESOURCE_IN_USE', 'INVALID_STATE'],
});

export const runSchedule = operation({
  id: 'runSchedule',
  method: 'POST',
  path: api('/schedules/{scheduleId}/run'),
  tag,
  summary: 'Run a schedule now',
  description:
    'Starts the backup that the schedule describes, in addition to its due times. It belongs to the schedule: it counts as a run, for `fullEvery` and for retention.',
  access: manages,
  params,
  success: accepted(backup),
  location: true,
  errors: ['SCHEDULE_NOT_FOUND', 'PROJECT_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND'],
});

export const listScheduleRuns = operation({
  id: 'listScheduleRuns',
  method: 'GET',
  path: api('/schedules/{scheduleId}/runs'),
  tag,
  summary: 'List the runs of a schedule',
  description: 'Every due time of the last 90 days and its result, newest first.',
  access: reads,
  params,
  query: pageQuery,
  success: list(scheduleRun),
  errors: ['SCHEDULE_NOT_FOUND'],
});

export const previewRetention = operation({
  id: 'previewRetention',
  method: 'GET',
  path: api('/schedules/{scheduleId}/retention-preview'),
  tag,
  summary: 'Show what retention would do',
  description: "For each of the schedule's backups, newest first: what keeps it, or when it would be removed.",
  access: reads,
  params,
  query: pageQuery,
  success: list(retentionPreviewEntry),
  errors: ['SCHEDULE_NOT_FOUND'],
});
