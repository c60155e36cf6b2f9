import { parseArgs } from 'node:util';
import type { Figure } from './figure.ts';
import { registry } from './registry.ts';
import { writeReport } from './report.ts';

/**
 * `npm run bench -- NAME… [--json] [--report]`. Without names every bench runs; `pitr` is all whose names begin with it. `--json` prints one line per figure,
 * `--report` writes docs/performance.md and its chart. The exit code is 1 when a figure misses its target.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, report: { type: 'boolean', default: false } },
});
const known = Object.keys(registry);
const named = positionals.flatMap((name) => {
  const parts = known.filter((each) => each.startsWith(`${name}-`));
  return name in registry || parts.length === 0 ? [name] : parts;
});
const names = named.length > 0 ? named : known;
const unknown = names.filter((name) => !(name in registry));
if (unknown.length > 0) {
  console.error(`There is no bench called ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  process.exit(2);
}

const results: { about: string; figures: readonly Figure[] }[] = [];
for (const name of names) {
  const bench = await registry[name]!();
  if (!values.json) console.log(`${name}: ${bench.about}`);
  const figures = await bench.run();
  results.push({ about: bench.about, figures });
  for (const one of figures)
    console.log(values.json ? JSON.stringify({ ...one, ...one.details, details: undefined }) : sentence(one));
}
if (values.report) await writeReport(results);
process.exit(results.every(({ figures }) => figures.every(({ pass }) => pass)) ? 0 : 1);

function sentence({ name, against, ratio, target, better, pass, details }: Figure): string {
  const numbers = Object.entries(details).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`,
  );
  return `  ${pass ? '✔' : '✘'} ${name} against ${against}: ${ratio} (${better === 'higher' ? '≥' : '≤'} ${target})  ${numbers.join(', ')}`;
}
