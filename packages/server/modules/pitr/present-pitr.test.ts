import { coverageOf, type LogGap } from '@holdfast/engine';
import { expect, test } from 'vitest';
import type { Base, Coverage } from './coverage.ts';
import { findBase, lastReachable } from './coverage.ts';
import type { LogRow } from './pitr-store.ts';
import { presentSummary } from './present-pitr.ts';

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z`;
const shortOf = (second: number) => at(second).replace('000000Z', 'Z');

function coverageWith(bases: readonly number[], gaps: readonly LogGap[]): Coverage {
  const whole = { coveredFrom: at(0), coveredThrough: at(50), marks: [], gap: null };
  const told = gaps.map((gap) => ({ coveredFrom: gap.from, coveredThrough: gap.from, marks: [], gap }));
  return {
    others: [],
    bases: bases.map(
      (second): Base => ({
        id: `bkp_${second}`,
        snapshotTime: at(second),
        exactFrom: at(second),
        documentCount: 1,
        trigger: 'pitr',
        isSound: true,
      }),
    ),
    gaps,
    log: coverageOf([whole, ...told]),
    endedBecause: null,
    baseError: null,
  };
}

const row = { enabled: true, error: null, sourceKeepsFrom: null, startedFrom: at(0), coveredThrough: at(50) } as LogRow;
const gap = (from: number, through: number, more: Partial<LogGap> = {}): LogGap => ({
  from: at(from),
  through: at(through),
  reason: 'Something was late.',
  ...more,
});

const histories: [string, number[], LogGap[]][] = [
  ['a base inside of a gap, and the next one some time behind it', [5, 30], [gap(2, 12)]],
  ['a gap whose deletions nobody saw, with a base behind it', [2, 30], [gap(10, 15, { deletionsUnknown: true })]],
  ['a gap that is crossed', [2], [gap(10, 15)]],
  ['two gaps, and a base between them', [0, 20], [gap(10, 15, { deletionsUnknown: true }), gap(30, 34)]],
  ['no gap', [0, 20], []],
  ['nothing but a base that was read in a gap', [20], [gap(15, 25)]],
];

test.each(histories)('%s: every second is in reach or in a told gap, and none is both', (_, bases, gaps) => {
  const coverage = coverageWith(bases, gaps);
  const shown = presentSummary(row, coverage, new Date(at(51)));
  for (let second = 0; second <= 50; second++) {
    const instant = shortOf(second);
    const isCovered = shown.coveredFrom !== null && shown.coveredFrom <= instant && instant <= shown.coveredTo!;
    const isInGap = shown.gaps.some(({ from, to }) => from < instant && instant < to);
    expect(isCovered && !isInGap, instant).toBe(findBase(at(second), coverage) !== undefined);
  }
});

test('unreachable time without a gap is explained by a missing backup', () => {
  const { gaps } = presentSummary(row, coverageWith([5, 30], [gap(2, 12)]), new Date(at(51)));
  expect(gaps).toEqual([{ from: shortOf(5), to: shortOf(30), reason: expect.stringContaining('Something was late.') }]);
  expect(gaps[0]!.reason).toContain('only a newer base reaches');
});

test.each(histories)(
  '%s: the last moment in reach up to a second is reached, and none behind it is',
  (_, bases, gaps) => {
    const coverage = coverageWith(bases, gaps);
    let reached: string | null = null;
    for (let second = 0; second <= 50; second++) {
      if (findBase(at(second), coverage)) reached = at(second);
      expect(lastReachable(at(second), coverage), at(second)).toBe(reached);
    }
  },
);
