import { expect, test } from 'vitest';
import { type DueSchedule, planDue } from './plan-due.ts';

const hourly: DueSchedule = {
  cron: '0 * * * *',
  timezone: 'UTC',
  nextRunAt: new Date('2026-05-01T10:00:00Z'),
  catchUp: 'latest',
  missedAfterMinutes: 15,
};
const at = (text: string) => new Date(`2026-05-${text}Z`);
const times = (dates: readonly Date[]) => dates.map((date) => date.toISOString().slice(8, 16));

test('a due time that has come is triggered, and the next one lies in the future', () => {
  const plan = planDue(hourly, at('01T10:00:03'));
  expect(plan).toMatchObject({ trigger: at('01T10:00:00'), missed: [], passedOver: [] });
  expect(plan.next).toEqual(at('01T11:00:00'));
});

test('a clock that runs ahead does not bring a due time back', () => {
  const plan = planDue({ ...hourly, cron: '* * * * *' }, at('01T09:59:59'));
  expect(plan.trigger).toEqual(at('01T10:00:00'));
  expect(plan.next).toEqual(at('01T10:01:00'));
});

test('after an outage the newest missed run is made up for and the others are told', () => {
  const plan = planDue(hourly, at('01T13:40:00'));
  expect(plan).toMatchObject({ trigger: at('01T13:00:00'), missedBefore: false });
  expect(times(plan.missed)).toEqual(['01T10:00', '01T11:00', '01T12:00']);
});

test('with skip none is made up for', () => {
  const plan = planDue({ ...hourly, catchUp: 'skip' }, at('01T13:40:00'));
  expect(plan.trigger).toBeNull();
  expect(times(plan.missed)).toEqual(['01T10:00', '01T11:00', '01T12:00', '01T13:00']);
});

test('with skip a run that is late by less still begins', () => {
  const plan = planDue({ ...hourly, catchUp: 'skip' }, at('01T13:15:00'));
  expect(plan).toMatchObject({ trigger: at('01T13:00:00') });
});

test('of a long outage the newest ten are told, in little time', () => {
  const before = process.cpuUsage();
  const plan = planDue(
    { ...hourly, cron: '* * * * *', nextRunAt: new Date('2021-05-01T10:00:00Z') },
    at('01T13:40:30'),
  );
  expect(plan.missed).toHaveLength(10);
  expect(plan).toMatchObject({ missedBefore: true, trigger: at('01T13:40:00') });
  expect(plan.next).toEqual(at('01T13:41:00'));
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500);
});

test('the same holds for a schedule whose last due time was long before the end of the outage', () => {
  const before = process.cpuUsage();
  const january = { cron: '* 0-23 * 1 *', timezone: 'America/Santiago', nextRunAt: new Date('2024-01-05T10:00:00Z') };
  const plan = planDue({ ...hourly, ...january }, at('01T13:40:30'));
  expect(plan).toMatchObject({ missedBefore: true, trigger: new Date('2026-02-01T02:59:00Z') });
  expect(plan.missed.map((date) => date.toISOString().slice(0, 16))).toEqual(
    Array.from({ length: 10 }, (_, index) => `2026-02-01T02:${49 + index}`),
  );
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
});

test('due times that a later one overtook within the tolerance are neither run nor missed', () => {
  const plan = planDue({ ...hourly, cron: '*/5 * * * *' }, at('01T10:12:00'));
  expect(plan).toMatchObject({ trigger: at('01T10:10:00'), missed: [] });
  expect(times(plan.passedOver)).toEqual(['01T10:00', '01T10:05']);
});

test('a yearly schedule that slept for years tells each of them', () => {
  const plan = planDue(
    { ...hourly, cron: '0 0 1 1 *', nextRunAt: new Date('2023-01-01T00:00:00Z') },
    at('01T00:00:00'),
  );
  expect(times(plan.missed)).toHaveLength(3);
  expect(plan.trigger).toEqual(new Date('2026-01-01T00:00:00Z'));
});
