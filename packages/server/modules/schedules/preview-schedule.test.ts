import { expect, test } from 'vitest';
import { previewSchedule } from './preview-schedule.ts';

const november = new Date('2026-11-18T18:00:00Z');

test('a run is shown on the day of the week on which the clock on the wall shows it', () => {
  const { runs, localRuns } = previewSchedule('30 23 * * *', 'America/New_York', 7, november);
  expect([runs[0], localRuns[0]]).toEqual(['2026-11-19T04:30:00.000Z', 'Wed 2026-11-18 23:30']);
  expect(localRuns.map((run) => run.slice(0, 3))).toEqual(['Wed', 'Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue']);
});

test('a hundred runs are shown in little time, however far apart they lie and however often the clock is moved', () => {
  const before = process.cpuUsage();
  const told = Array.from({ length: 10 }, () => previewSchedule('0 */23 29 2 *', 'Asia/Gaza', 100, november));
  expect(told[0]?.localRuns.slice(0, 3)).toEqual([
    'Tue 2028-02-29 00:00',
    'Tue 2028-02-29 23:00',
    'Sun 2032-02-29 00:00',
  ]);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(700);
});
