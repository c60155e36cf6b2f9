import type { BodyInput, Operations, Schedule } from '@holdfast/contract';
import { lineOfNames, namesOfLine } from '../../format/names.ts';
import { t } from '../../texts/index.ts';

/** What the sentence holds, before it is saved. */
export interface Draft {
  readonly name: string;
  readonly projectId: string;
  readonly cron: string;
  readonly timezone: string;
  /** Every n-th run is full; 1: all of them. */
  readonly fullEvery: number;
  readonly collections: string;
  readonly storageDestinationId: string;
  readonly keep: Readonly<Record<'daily' | 'weekly' | 'monthly' | 'yearly', number>>;
  readonly catchUp: 'latest' | 'skip';
  readonly drillEvery: number | null;
}

/** What the service may refuse at a place of the sentence; anything else is said above it. */
export const placedFaults = ['cron', 'collections', 'storageDestinationId'];

/** What most people want: every night, a full one a week, kept for a year. */
export function usualDraft(projectId: string, timezone: string): Draft {
  return {
    name: t.schedules.usualName,
    projectId,
    cron: '0 2 * * *',
    timezone,
    fullEvery: 7,
    collections: '',
    storageDestinationId: '',
    keep: { daily: 7, weekly: 4, monthly: 12, yearly: 0 },
    catchUp: 'latest',
    drillEvery: null,
  };
}

export function draftOf(schedule: Schedule): Draft {
  const policy = schedule.retentionPolicy;
  return {
    name: schedule.name,
    projectId: schedule.projectId,
    cron: schedule.cron,
    timezone: schedule.timezone,
    fullEvery: schedule.type === 'full' ? 1 : (schedule.fullEvery ?? 7),
    collections: schedule.collections[0] === '*' ? '' : lineOfNames(schedule.collections),
    storageDestinationId: schedule.storageDestinationId ?? '',
    keep: {
      daily: policy?.daily ?? 0,
      weekly: policy?.weekly ?? 0,
      monthly: policy?.monthly ?? 0,
      yearly: policy?.yearly ?? 0,
    },
    catchUp: schedule.catchUp,
    drillEvery: schedule.drillEvery,
  };
}

/**
 * What somebody changed, and nothing else: a schedule has more than the sentence says (further destinations, the last so many
 * backups, a retention in days), which a new name must not take away.
 */
export function changesOf(
  before: Draft,
  draft: Draft,
  { retentionPolicy }: Schedule,
): BodyInput<Operations['updateSchedule']> {
  const { projectId: _, fullEvery = null, storageDestinationId = null, type, ...whole } = requestOf(draft);
  const changed = (name: keyof Draft, body: BodyInput<Operations['updateSchedule']>) =>
    JSON.stringify(before[name]) === JSON.stringify(draft[name]) ? {} : body;
  const policy = { ...retentionPolicy, ...draft.keep };
  const keepsSome = Object.values(policy).some((count = 0) => count > 0);
  return {
    ...changed('name', { name: whole.name }),
    ...changed('cron', { cron: whole.cron }),
    ...changed('timezone', { timezone: draft.timezone }),
    ...changed('fullEvery', { type, fullEvery }),
    ...changed('collections', { collections: whole.collections }),
    ...changed('storageDestinationId', { storageDestinationId }),
    ...changed('keep', { retentionPolicy: keepsSome ? policy : null, retention: null }),
    ...changed('catchUp', { catchUp: draft.catchUp }),
    ...changed('drillEvery', { drillEvery: draft.drillEvery }),
  };
}

export function requestOf(draft: Draft): BodyInput<Operations['createSchedule']> {
  const names = namesOfLine(draft.collections);
  const keepsSome = Object.values(draft.keep).some((count) => count > 0);
  return {
    name: draft.name,
    projectId: draft.projectId,
    cron: draft.cron.trim().replace(/\s+/g, ' '),
    timezone: draft.timezone,
    type: draft.fullEvery === 1 ? 'full' : 'incremental',
    ...(draft.fullEvery === 1 ? {} : { fullEvery: draft.fullEvery }),
    collections: names.length > 0 ? names : ['*'],
    ...(draft.storageDestinationId ? { storageDestinationId: draft.storageDestinationId } : {}),
    ...(keepsSome ? { retentionPolicy: { ...draft.keep } } : {}),
    catchUp: draft.catchUp,
    ...(draft.drillEvery === null ? {} : { drillEvery: draft.drillEvery }),
  };
}
