import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chart } from './chart.ts';
import { type Figure, figure } from './figure.ts';
import { chosen, pagesWithFigures, performanceChart, performancePage, renderPage, withMeasured } from './report.ts';
import { keptResults, type Measured } from './results.ts';

const results = await keptResults();

test('the pages of figures say what the benches found, and nothing by hand', () => {
  expect(readFileSync(performancePage, 'utf8')).toBe(renderPage(results));
  expect(readFileSync(performanceChart, 'utf8')).toBe(chart(chosen(results)));
  for (const { page, part } of pagesWithFigures) {
    const text = readFileSync(page, 'utf8');
    expect(text).toBe(withMeasured(text, part(results)));
  }
});

test('a figure that was missed is shown as missed, also among many', () => {
  const many: Figure[] = Array.from({ length: 20 }, (_, index) => figure(`page ${index}`, 'few', 1, 2, 'lower', {}));
  const missed = figure('the slow one', 'few', 3, 2, 'lower', { milliseconds: 12 });
  const page = renderPage([measured([...many, missed])]);
  expect(page).toContain('21 figures, 1 missed');
  expect(page).toContain('| the slow one | few | 3 | ≤ 2 | **missed** | milliseconds 12 |');
  expect(page).not.toContain('page 19');
});

function measured(figures: readonly Figure[]): Measured {
  return { bench: 'lists', about: 'Pages.', machine: 'two cores', day: '2026-01-31', figures };
}
