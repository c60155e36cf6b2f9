import { readCommand } from '@holdfast/server/platform/command-options';
import type { Figure } from './figure.ts';
import { registry } from './registry.ts';
import { writeReport } from './report.ts';
import { keepResult } from './results.ts';

const known = Object.keys(registry);

const { values, positionals } = readCommand({
  usage: 'npm run bench -- [NAME…]',
  about: `Measures, beside a peer in the same run; ends with 1 when a figure misses its target. Without names every bench runs;
pitr is all whose names begin with it. There are: ${known.join(', ')}.`,
  options: {
    json: { type: 'boolean', default: false, about: 'print one line of JSON per figure' },
    report: { type: 'boolean', default: false, about: 'keep what was measured and write docs/performance.md from it' },
  },
  takesNames: true,
});
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

let isEveryTargetReached = true;
for (const name of names) {
  const bench = await registry[name]!();
  if (!values.json) console.log(`${name}: ${bench.about}`);
  const figures = await bench.run();
  isEveryTargetReached &&= figures.every(({ pass }) => pass);
  if (values.report) await keepResult(bench, figures);
  for (const one of figures)
    console.log(values.json ? JSON.stringify({ ...one, ...one.details, details: undefined }) : sentence(one));
}
if (values.report) await writeReport();
process.exit(isEveryTargetReached ? 0 : 1);

function sentence({ name, against, ratio, target, better, pass, details }: Figure): string {
  const numbers = Object.entries(details).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`,
  );
  return `  ${pass ? '✔' : '✘'} ${name} against ${against}: ${ratio} (${better === 'higher' ? '≥' : '≤'} ${target})  ${numbers.join(', ')}`;
}
