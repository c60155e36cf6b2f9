import type { Schedule } from '@holdfast/contract';
import { expect, test } from 'vitest';
import { clockChangeOf } from '../app/pages/schedules/clock-change.ts';
import { changesOf, draftOf } from '../app/pages/schedules/draft.ts';
import { yearAhead } from '../app/pages/schedules/year-ahead.ts';

const schedule: Schedule = {
  name: 'Nightly',
  projectId: 'prj_1',
  cron: '0 2 * * *',
  timezone: 'Europe/Berlin',
  type: 'incremental',
  fullEvery: 5,
  collections: ['*'],
  storageDestinationId: 'dst_1',
  storageDestinationIds: ['dst_1', 'dst_2'],
  retentionPolicy: { last: 3, daily: 7 },
  catchUp: 'latest',
  drillEvery: null,
} as never;

test('saving a schedule sends what somebody changed, so that what the sentence does not say stays', () => {
  const before = draftOf(schedule);
  expect(changesOf(before, { ...before, name: 'Every night' })).toEqual({ name: 'Every night' });
  const keep = { ...before.keep, weekly: 4 };
  expect(changesOf(before, { ...before, keep })).toEqual({
    retention: null,
    retentionPolicy: { last: 3, daily: 7, weekly: 4, monthly: 0, yearly: 0 },
  });
  const nothing = { last: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0 };
  expect(changesOf(before, { ...before, keep: nothing })).toEqual({ retention: null, retentionPolicy: null });
});

test('the next change of the clock is told where it moves a run', () => {
  const nowMs = Date.parse('2025-11-18T12:00:00Z');
  const told = (cron: string, timezone = 'Europe/Berlin') => clockChangeOf({ cron, timezone }, nowMs);
  expect(told('0 2 * * *')).toBe(
    'On 29 Mar 2026 there is no 02:00 in Berlin. The run of that day starts at 03:00, once.',
  );
  expect(told('30 2 * * 0')).toContain('there is no 02:30 in Berlin. The run of that day starts at 03:00');
  expect(told('30 2 * * 1-5')).toBeUndefined();
  expect(told('0 3 * * *')).toBeUndefined();
  expect(told('0 */2 * * *')).toBeUndefined();
  expect(told('0 2 * * *', 'UTC')).toBeUndefined();
  const inSummer = clockChangeOf({ cron: '30 2 * * *', timezone: 'Europe/Berlin' }, Date.parse('2026-07-01T00:00:00Z'));
  expect(inSummer).toBe(
    'On 25 Oct it is 02:30 twice in Berlin. The run of that day starts at the first of them, once.',
  );
});

test('a year ahead the days are kept that the rules of the service keep', () => {
  const today = Date.parse('2025-11-18T00:00:00Z');
  const kept = (cron: string, daily: number, weekly: number, monthly: number) =>
    yearAhead({ cron, keep: { last: 0, daily, weekly, monthly, yearly: 0 } }, today)?.map(
      ({ dayMs, rules }) => `${new Date(dayMs).toISOString().slice(0, 10)} ${rules.join(' ')}`,
    );
  expect(kept('0 2 * * *', 3, 2, 2)).toEqual([
    '2026-10-31 monthly',
    '2026-11-15 weekly',
    '2026-11-16 daily',
    '2026-11-17 daily',
    '2026-11-18 monthly weekly daily',
  ]);
  expect(kept('0 2 * * 0', 2, 0, 0)).toEqual(['2026-11-08 daily', '2026-11-15 daily']);
  expect(kept('0 2 1 * *', 7, 4, 12)).toBeUndefined();
  const newest = yearAhead(
    { cron: '0 */6 * * *', keep: { last: 10, daily: 4, weekly: 0, monthly: 0, yearly: 0 } },
    today,
  );
  expect(newest?.map(({ rules, backups }) => `${backups} ${rules.join(' ')}`)).toEqual([
    '1 daily',
    '2 last daily',
    '4 last daily',
    '4 last daily',
  ]);
});
