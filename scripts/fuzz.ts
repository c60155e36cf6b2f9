import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { readCommand } from '@holdfast/server/platform/command-options';

const nameOf = (path: string) => basename(path, '.fuzz.test.ts');
const files = globSync('{packages,bench}/**/*.fuzz.test.ts', { exclude: ['**/node_modules/**'] });
const names = files.map(nameOf).sort().join(', ');

const { values, positionals } = readCommand({
  usage: 'npm run fuzz -- [NAME…]',
  about: `Runs the tests called <name>.fuzz.test.ts with many more cases than an ordinary run gives them.
Without names all of them: ${names}.`,
  options: {
    cases: { type: 'string', value: 'N', default: '10000', about: 'how many cases of each' },
    seed: { type: 'string', value: 'N', about: 'begin with this one; a failure names its own' },
  },
  takesNames: true,
});
const unknown = positionals.filter((name) => !files.some((path) => nameOf(path) === name));
if (unknown.length > 0) {
  console.error(`There is no fuzz called ${unknown.join(', ')}. There are: ${names}.`);
  process.exit(2);
}
const chosen = files.filter((path) => positionals.length === 0 || positionals.includes(nameOf(path)));
const environment = {
  ...process.env,
  FUZZ_CASES: values.cases,
  ...(values.seed === undefined ? {} : { FUZZ_SEED: values.seed }),
};
const { status } = spawnSync('vitest', ['run', ...chosen], {
  stdio: 'inherit',
  env: environment,
  shell: process.platform === 'win32',
});
process.exit(status ?? 1);
