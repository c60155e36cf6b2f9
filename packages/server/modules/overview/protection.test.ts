import { expect, test } from 'vitest';
import { dayMs, hourMs, later, minuteMs } from '../../platform/durations.ts';
import { parseCron } from '../schedules/cron/cron-expression.ts';
import { lastDueTimes } from '../schedules/cron/due-times.ts';
import { judge, type ProjectFacts } from './protection.ts';

const now = new Date('2026-03-10T12:00:00Z');
const lastDue = new Date('2026-03-10T02:00:00Z');
const good: ProjectFacts = {
  connection: 'connected',
  scheduleCount: 1,
  rhythm: { intervalMs: dayMs, missedAfterMinutes: 15, lastDue, dueBefore: later(lastDue, -dayMs) },
  newest: { startedAt: later(lastDue, 1000), asOf: later(lastDue, 2000) },
  failuresInRow: 0,
  isSealed: false,
  isDamaged: false,
  isStorageBroken: false,
  isStorageMissing: false,
  isCaptureBroken: false,
  hasAnomaly: false,
};
const verdict = (facts: Partial<ProjectFacts>, at = now) => {
  const { state, reasons } = judge({ ...good, ...facts }, at);
  return [state, ...reasons.map(({ code }) => code)];
};
const madeAt = (asOf: Date) => ({ newest: { startedAt: later(asOf, -minuteMs), asOf } });

test('a backup begun at the last due time protects, whatever the age of the previous one', () => {
  expect(verdict({})).toEqual(['protected']);
});

test('without one since the last due time a project is protected for an interval and the allowed delay of a run', () => {
  const before = madeAt(later(lastDue, -14 * hourMs));
  expect(verdict(before, later(lastDue, 10 * hourMs + 15 * minuteMs))).toEqual(['protected']);
  expect(verdict(before, later(lastDue, 10 * hourMs + 16 * minuteMs))).toEqual(['at_risk', 'late']);
  expect(verdict(before, later(lastDue, 35 * hourMs))).toEqual(['unprotected', 'very_late']);
});

test('the worst fault is named first, and all faults are named', () => {
  expect(verdict({ newest: null, isStorageBroken: true })).toEqual(['unprotected', 'never_backed_up', 'storage_error']);
  expect(verdict({ connection: 'unauthorized', hasAnomaly: true })).toEqual(['unprotected', 'unauthorized', 'anomaly']);
  expect(verdict({ isStorageMissing: true })).toEqual(['unprotected', 'no_storage']);
  expect(verdict({ failuresInRow: 1 })).toEqual(['protected']);
  expect(verdict({ failuresInRow: 2 })).toEqual(['unprotected', 'failing']);
  expect(verdict({ isCaptureBroken: true, connection: 'error' })).toEqual([
    'at_risk',
    'source_error',
    'capture_stopped',
  ]);
});

test('without an enabled schedule nothing is expected', () => {
  expect(verdict({ rhythm: null, scheduleCount: 0 })).toEqual(['manual', 'no_schedule']);
  expect(verdict({ rhythm: null, newest: null })).toEqual(['manual', 'never_backed_up', 'schedule_disabled']);
});

test('a schedule for working days is in time on a Sunday, and late on Monday', () => {
  const due = (at: string) => lastDueTimes(parseCron('0 9 * * 1-5'), 'UTC', new Date(at), 2) as [Date, Date];
  expect(due('2026-03-08T12:00:00Z').map((each) => each.toISOString())).toEqual([
    '2026-03-06T09:00:00.000Z',
    '2026-03-05T09:00:00.000Z',
  ]);
  const friday = {
    newest: { startedAt: new Date('2026-03-06T09:00:01Z'), asOf: new Date('2026-03-06T09:00:02Z') },
  };
  const rhythmAt = (at: string) => {
    const [last, before] = due(at);
    return { rhythm: { intervalMs: dayMs, missedAfterMinutes: 15, lastDue: last, dueBefore: before } };
  };
  expect(verdict({ ...friday, ...rhythmAt('2026-03-08T12:00:00Z') }, new Date('2026-03-08T12:15:00Z'))).toEqual([
    'protected',
  ]);
  const monday = '2026-03-09T09:10:00Z';
  expect(verdict({ ...friday, ...rhythmAt(monday) }, new Date('2026-03-09T09:25:00Z'))).toEqual(['at_risk', 'late']);
});

test('due times are found however rare they are', () => {
  const yearly = lastDueTimes(parseCron('0 0 29 2 *'), 'UTC', now, 2).map((each) => each.toISOString());
  expect(yearly).toEqual(['2024-02-29T00:00:00.000Z', '2020-02-29T00:00:00.000Z']);
  expect(lastDueTimes(parseCron('* * * * *'), 'UTC', now, 1)).toEqual([now]);
});
