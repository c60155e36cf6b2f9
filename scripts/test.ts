import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommand } from '@holdfast/server/platform/command-options';

/** The one test command: types, lint, then the tests. The last line counts what passed and failed. */
const { positionals: filters, values } = readCommand({
  usage: 'npm test -- [--all] [FOLDER or FILE…]',
  about: `Types, lint, then the tests that are not marked as long, or every test below the folders that are named. The last line
counts what passed and failed. npx vitest takes more options, and npx vitest FOLDER watches.`,
  options: {
    all: { type: 'boolean', default: false, about: 'the long tests too' },
    retry: { type: 'string', value: 'N', default: '0', about: 'how often a test that fails is tried again' },
  },
  takesNames: true,
});
const takesLong = values.all || filters.length > 0;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-results-'));
const resultFile = join(folder, 'results.json');
const shell = process.platform === 'win32';

/** Several checkers of types each work out the same ones: that takes twice the processor time, and pays with many cores only. */
const checkers = availableParallelism() > 2 ? [] : ['--singleThreaded'];

const checks = [
  ['types', 'tsc', ['--noEmit', '-p', 'tsconfig.json', ...checkers]],
  ['types of the dashboard', 'tsc', ['--noEmit', '-p', 'packages/web/tsconfig.json', ...checkers]],
  ['lint', 'biome', ['check', '--error-on-warnings', '.']],
] as const;

/** What a check printed is shown when it has ended, so that two at once do not mix. */
function check([name, command, args]: (typeof checks)[number]): Promise<boolean> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], shell });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (printed += bytes));
  return new Promise((resolve) => {
    const end = (isGood: boolean) => {
      console.log(`\n── ${name}\n${printed.trimEnd()}`);
      resolve(isGood);
    };
    child.once('error', (error) => {
      printed += error.message;
      end(false);
    });
    child.once('close', (status) => end(status === 0));
  });
}

const checked = await Promise.all(checks.map(check));
let passed = checked.filter(Boolean).length;
let failed = checked.length - passed;

console.log('\n── tests');
const { status, error } = spawnSync(
  'vitest',
  [
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile=${resultFile}`,
    `--retry=${values.retry}`,
    ...(takesLong ? [] : ['--tags-filter=!long']),
    ...filters,
  ],
  { stdio: 'inherit', shell },
);
if (error) console.error(error.message);
try {
  const results = JSON.parse(readFileSync(resultFile, 'utf8')) as {
    numPassedTests: number;
    numFailedTests: number;
  };
  passed += results.numPassedTests;
  failed += results.numFailedTests;
  if (status !== 0 && results.numFailedTests === 0) failed++;
} catch {
  console.error('the tests left no results');
  failed++;
}
rmSync(folder, { recursive: true, force: true });
if (!takesLong) console.log('\nThe long tests were left out; npm test -- --all takes them too.');
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
