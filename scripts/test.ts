import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommand } from '@holdfast/server/platform/command-options';

/** The one test command: types, lint, then every test. The last line counts what passed and failed. */
const { positionals: filters, values } = readCommand({
  usage: 'npm test -- [FOLDER or FILE…]',
  about: `Types, lint, then every test, or those below the folders that are named. The last line counts what passed and failed.
npx vitest takes more options, and npx vitest FOLDER watches.`,
  options: { retry: { type: 'string', value: 'N', default: '0', about: 'how often a test that fails is tried again' } },
  takesNames: true,
});
const folder = mkdtempSync(join(tmpdir(), 'holdfast-results-'));
const resultFile = join(folder, 'results.json');

function run(name: string, command: string, args: string[]): boolean {
  console.log(`\n── ${name}`);
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (error) console.error(error.message);
  return status === 0;
}

/** Several checkers of types each work out the same ones: that takes twice the processor time, and pays with many cores only. */
const checkers = availableParallelism() > 2 ? [] : ['--singleThreaded'];

let passed = 0;
let failed = 0;
for (const [name, command, args] of [
  ['types', 'tsc', ['--noEmit', '-p', 'tsconfig.json', ...checkers]],
  ['types of the dashboard', 'tsc', ['--noEmit', '-p', 'packages/web/tsconfig.json', ...checkers]],
  ['lint', 'biome', ['check', '--error-on-warnings', '.']],
] as const) {
  if (run(name, command, [...args])) passed++;
  else failed++;
}

const tested = run('tests', 'vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile=${resultFile}`,
  `--retry=${values.retry}`,
  ...filters,
]);
try {
  const results = JSON.parse(readFileSync(resultFile, 'utf8')) as {
    numPassedTests: number;
    numFailedTests: number;
    numFailedTestSuites: number;
  };
  passed += results.numPassedTests;
  failed += results.numFailedTests;
  if (!tested && results.numFailedTests === 0) failed++;
} catch {
  console.error('the tests left no results');
  failed++;
}
rmSync(folder, { recursive: true, force: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
