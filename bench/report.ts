import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { chart } from './chart.ts';
import type { Figure } from './figure.ts';

const folder = new URL('../docs/', import.meta.url);

const notes = `Where a backup spends its processor time: half of it compressing, a good third receiving and indexing, the rest encrypting, hashing and storing.
What keeps the collector out of it is told in [decision 9](decisions/0009-memory-is-given-back.md). The sandbox serves a whole collection at more
than a million documents per second of its processor, so it is not the limit of what is measured against it.

An increment that scans receives 118 bytes for each document that is there: name, two times and the time of reading, each in a message of its own. gRPC compresses message by
message, which makes these 6 % longer (118 → 125 bytes with gzip), and those of whole documents a fifth shorter at 84 µs each to open, thirty times what a document costs now. So compression is not asked for,
and 15 % of a full backup's bytes would need smaller names; an increment from the log of point-in-time recovery receives nothing.`;

/** Writes docs/performance.md and the chart in it from what was just measured. */
export async function writeReport(results: readonly { about: string; figures: readonly Figure[] }[]): Promise<void> {
  const figures = results.flatMap(({ figures: some }) => some);
  await writeFile(new URL('performance.svg', folder), chart(figures));
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const sections = results.map(({ about, figures: some }) => `${about}\n\n${table(some)}`);
  const text = `# Performance

Every claim of speed is a benchmark with a peer in the same run, on the same sandbox: \`npm run bench -- NAME\`, with \`--json\` one line per figure.
This page was written by \`npm run bench -- --report\` on ${machine}.

The database is the sandbox in a process of its own; every contender runs in its own process against the same data. Rates are medians of rounds
that take turns; only the ratios mean something on another machine.

![What was reached, against what was promised](performance.svg)

${sections.join('\n\n')}

${notes}
`;
  await writeFile(new URL('performance.md', folder), text);
}

function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, against, ratio, target, better, pass, details }) => {
    const numbers = Object.entries(details).map(
      ([key, value]) => `${spoken(key)} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`,
    );
    return `| ${name} | ${against} | ${ratio} | ${better === 'higher' ? '≥' : '≤'} ${target} | ${pass ? 'reached' : '**missed**'} | ${numbers.join(', ')} |`;
  });
  return ['| Bench | Against | Ratio | Target | | Numbers |', '|---|---|---|---|---|---|', ...rows].join('\n');
}

/** `peakMiBOfSmall` as "peak MiB of small". */
function spoken(key: string): string {
  return key.replaceAll(/MiB|[A-Z]/g, (part) => ` ${part === 'MiB' ? part : part.toLowerCase()}`);
}
