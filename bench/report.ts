import { readFile, writeFile } from 'node:fs/promises';
import { chart } from './chart.ts';
import type { Figure } from './figure.ts';
import { keptResults, type Measured } from './results.ts';
import { measuredHeadline, measuredScale } from './scale/measured-scale.ts';

export const performancePage = new URL('../docs/performance.md', import.meta.url);
export const performanceChart = new URL('../docs/performance.svg', import.meta.url);

type Part = (results: readonly Measured[]) => string;

/** Pages with a part between two marks that tells figures. */
export const pagesWithFigures: readonly { readonly page: URL; readonly part: Part }[] = [
  { page: new URL('../docs/scale.md', import.meta.url), part: measuredScale },
  { page: new URL('../README.md', import.meta.url), part: measuredHeadline },
];

/** A bench that tells more figures than this shows the first of them and those that came nearest to their target. */
const figuresShownMax = 8;
const nearestShown = 3;

const notes = `Where a backup spends its processor time: half of it compressing, a good third receiving and indexing, the rest encrypting, hashing and storing.
What keeps the collector out of it is told in [decision 9](decisions/0009-memory-is-given-back.md). The sandbox serves a whole collection at more
than a million documents per second of its processor, so it is not the limit of what is measured against it.

An increment that scans receives name, two times and the time of reading for each document that is there. Over gRPC these are 122 bytes in a message of its own, and compressed message by message they would be longer.
So names come over REST where the server offers that, compressed as a whole: 44 bytes with the weakest compression, 60 if Google flushed after each of them ([decision 12](decisions/0012-names-over-rest.md)). Unpacking and reading
JSON takes some ten times the processor time, four seconds for a million documents, and such a scan takes three times as long here, where the wire costs nothing and two cores do everything. What a
full backup receives is not compressed: that saves a fifth, at 84 µs for each document to open, thirty times what a document costs now. An increment from the log of point-in-time recovery receives nothing.

What the dashboard's page does by the clock includes what it waited for the browser's other processes, the service and the database, which share its cores; the processor time is its own.

Point-in-time recovery waits on an empty database and does not listen to it: what resuming 200 streams adds is not measured. A look is a call that lists collections, or a count; each bills a read, which is not
among the documents read. While 19 new collections appear at once, before the measured time, the lag of capture is that of finding them: up to 14 s on a busy machine.`;

/** Writes docs/performance.md, the chart in it and the measured parts of other pages from what every bench found last. */
export async function writeReport(): Promise<void> {
  const results = await keptResults();
  await writeFile(performanceChart, chart(chosen(results)));
  await writeFile(performancePage, renderPage(results));
  for (const { page, part } of pagesWithFigures)
    await writeFile(page, withMeasured(await readFile(page, 'utf8'), part(results)));
}

export function chosen(results: readonly Measured[]): Figure[] {
  return results.flatMap(({ figures }) => shown(figures));
}

export function renderPage(results: readonly Measured[]): string {
  const sections = results.map(
    ({ bench, about, machine, day, figures }) =>
      `## ${bench}\n\n${about}${amongMore(figures)}\n\n${table(shown(figures))}\n\n\`npm run bench -- ${bench}\`, ${day}, ${machine}.`,
  );
  return `# Performance

Every claim of speed is a benchmark with a peer in the same run, on the same sandbox: \`npm run bench -- NAME\`, with \`--json\` one line per figure.
This page is written by \`npm run bench -- --report\`, or by \`npm run bench -- NAME --report\` for one bench; each says when and where it ran.

The database is the sandbox in a process of its own; every contender runs in its own process against the same data. Rates are medians of rounds
that take turns; only the ratios mean something on another machine.

![What was reached, against what was promised](performance.svg)

${sections.join('\n\n')}

## Notes

${notes}
`;
}

const beginMark = '<!-- Written by npm run bench -- --report. -->';
const endMark = '<!-- Up to here. -->';

export function withMeasured(page: string, part: string): string {
  const [before, rest] = page.split(beginMark);
  const after = rest?.split(endMark)[1];
  if (before === undefined || after === undefined) throw new Error('A page with figures has lost its marks.');
  return `${before}${beginMark}\n\n${part}\n\n${endMark}${after}`;
}

/** How far beyond its target a figure is; below 1 it was missed. */
function margin({ ratio, target, better }: Figure): number {
  return better === 'higher' ? ratio / target : target / Math.max(ratio, Number.EPSILON);
}

function shown(figures: readonly Figure[]): readonly Figure[] {
  if (figures.length <= figuresShownMax) return figures;
  const nearest = figures.slice(1).toSorted((left, right) => margin(left) - margin(right));
  return [figures[0]!, ...nearest.slice(0, nearestShown)];
}

function amongMore(figures: readonly Figure[]): string {
  if (figures.length <= figuresShownMax) return '';
  const missed = figures.filter(({ pass }) => !pass).length;
  const outcome = missed === 0 ? 'all reached' : `${missed} missed`;
  return ` (${figures.length} figures, ${outcome}; shown are the first and the ${nearestShown} nearest to their target.)`;
}

function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, against, ratio, target, better, pass, details }) => {
    const numbers = Object.entries(details).map(
      ([key, value]) => `${spoken(key)} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`,
    );
    return `| ${name} | ${against} | ${ratio} | ${better === 'higher' ? '≥' : '≤'} ${target} | ${pass ? 'reached' : '**missed**'} | ${numbers.join(', ')} |`;
  });
  return ['| Figure | Against | Ratio | Target | | Numbers |', '|---|---|---|---|---|---|', ...rows].join('\n');
}

/** `peakMiBOfSmall` as "peak MiB of small"; what is written with blanks stays as it is. */
function spoken(key: string): string {
  if (key.includes(' ')) return key;
  return key.replaceAll(/[KMG]iB|[A-Z]/g, (part) => ` ${part.length > 1 ? part : part.toLowerCase()}`).trim();
}
