import type { BodyInput, Operations, Schedule } from '@holdfast/contract';
import { lineOfNames, namesOfLine } from '../../format/names.ts';
import { t } from '../../texts/index.ts';
import { type Rule, rules } from './year-ahead.ts';

/** The values of the sentence before they are saved. */
export interface Draft {
  readonly name: string;
  readonly projectId: string;
  readonly cron: string;
  readonly timezone: string;
  /** Every n-th run is full; 1: all of them. */
  readonly fullEvery: number;
  readonly collections: string;
  readonly storageDestinationId: string;
  readonly keep: Readonly<Record<Rule, number>>;
  /** Of a schedule that keeps by days, which only the command line and the API set; what is kept by number takes their place. */
  readonly days: number | null;
  readonly catchUp: 'latest' | 'skip';
  readonly drillEvery: number | null;
}

/** Fields of the sentence that can show an error; other errors are shown above it. */
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
    keep: { last: 0, daily: 7, weekly: 4, monthly: 12, yearly: 0 },
    days: null,
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
    keep: Object.fromEntries(rules.map((rule) => [rule, policy?.[rule] ?? 0])) as Draft['keep'],
    days: schedule.retention,
    catchUp: schedule.catchUp,
    drillEvery: schedule.drillEvery,
  };
}

/**
 * Sends only edited fields: a schedule has settings that the sentence does not show (further destinations, retention in days),
 * which a new name must not remove.
 */
export function changesOf(before: Draft, draft: Draft): BodyInput<Operations['updateSchedule']> {
  const { fullEvery = null, storageDestinationId = null, retentionPolicy = null, type, ...whole } = requestOf(draft);
  const changed = (name: keyof Draft, body: BodyInput<Operations['updateSchedule']>) =>
    JSON.stringify(before[name]) === JSON.stringify(draft[name]) ? {} : body;
  return {
    ...changed('name', { name: whole.name }),
    ...changed('cron', { cron: whole.cron }),
    ...changed('timezone', { timezone: draft.timezone }),
    ...changed('fullEvery', { type, fullEvery }),
    ...changed('collections', { collections: whole.collections }),
    ...changed('storageDestinationId', { storageDestinationId }),
    ...changed('keep', { retentionPolicy, retention: null }),
    ...changed('catchUp', { catchUp: draft.catchUp }),
    ...changed('drillEvery', { drillEvery: draft.drillEvery }),
  };
}

export const keepsSome = ({ keep }: Draft): boolean => Object.values(keep).some((count) => count > 0);

export function requestOf(draft: Draft): BodyInput<Operations['createSchedule']> {
  const names = namesOfLine(draft.collections);
  return {
    name: draft.name,
    projectId: draft.projectId,
    cron: draft.cron.trim().replace(/\s+/g, ' '),
    timezone: draft.timezone,
    type: draft.fullEvery === 1 ? 'full' : 'incremental',
    ...(draft.fullEvery === 1 ? {} : { fullEvery: draft.fullEvery }),
    collections: names.length > 0 ? names : ['*'],
    ...(draft.storageDestinationId ? { storageDestinationId: draft.storageDestinationId } : {}),
    ...(keepsSome(draft) ? { retentionPolicy: { ...draft.keep } } : {}),
    catchUp: draft.catchUp,
    ...(draft.drillEvery === null ? {} : { drillEvery: draft.drillEvery }),
  };
}
