import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { documents, inlineCommands, readDocument, shellBlocks } from '../../server/testing/documentation.ts';
import { createProgram } from '../program.ts';

const root = join(import.meta.dirname, '../../..');
const trials = 'packages/cli/documentation/trials.test.ts';
const commandLine = 'packages/cli/documentation/command-line.test.ts';
const recovery = 'packages/cli/documentation/worst-day.test.ts';
const pages = 'packages/cli/documentation/pages.test.ts';

/** Which test runs the commands of a page: all of them, or the block of this name. */
const runBy: Readonly<Record<string, string>> = {
  'README.md#demo': trials,
  'README.md#developer': trials,
  'README.md#integrator': trials,
  'README.md#operator': trials,
  'README.md#disaster': recovery,
  'docs/cli.md': commandLine,
  'docs/pitr.md': commandLine,
  'docs/recovery.md': recovery,
  'docs/sandbox.md': pages,
  'docs/sandbox-storage.md': pages,
  'docs/identity.md': pages,
  'docs/firebase.md': 'packages/cli/documentation/firebase.test.ts',
  'packages/contract/README.md': 'packages/server/typed-client.test.ts',
};

/** What cannot be run here, and why. */
const notRun: Readonly<Record<string, string>> = {
  'docs/firebase.md#google-cloud': 'gcloud and a project at Google',
  'docs/firebase.md#s3': 'the command line of AWS and an account there',
  'docs/firebase.md#gcs': 'gcloud and a project at Google',
  'docs/firebase.md#services': 'systemd',
  'docs/operations.md#dump': 'the tools of PostgreSQL, in the version of its server',
  'docs/operations.md#come-back': 'the tools of PostgreSQL; moved.test.ts does to a database what they leave out',
};

const blocks = documents().flatMap(shellBlocks);

test('every block of commands has a name of its own in its page', () => {
  const nameless = blocks
    .filter(({ name }) => !/^[a-z][a-z0-9-]*$/.test(name))
    .map(({ document, line }) => `${document}:${line}`);
  expect(nameless).toEqual([]);
  const names = blocks.map(({ document, name }) => `${document}#${name}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every block of commands is run by a test that exists, or there is a reason why it cannot be', () => {
  for (const { document, name } of blocks) {
    const place = `${document}#${name}`;
    const file = notRun[place] === undefined ? (runBy[place] ?? runBy[document]) : undefined;
    expect(notRun[place] ?? file, `nobody runs ${place}`).toBeDefined();
    if (file === undefined) continue;
    const text = readFileSync(join(root, file), 'utf8');
    expect(text, `${file} does not mention ${document}`).toContain(document.replace(/^packages\/contract\//, ''));
  }
  const places = new Set(blocks.flatMap(({ document, name }) => [document, `${document}#${name}`]));
  expect([...Object.keys(runBy), ...Object.keys(notRun)].filter((place) => !places.has(place))).toEqual([]);
});

test('no page asks for the Node of the machine, which may be too old for TypeScript', () => {
  const bare = /(^|[|&;] *)node [\w./-]+\.ts/m;
  expect(blocks.filter(({ text }) => bare.test(text)).map(({ document, line }) => `${document}:${line}`)).toEqual([]);
  const named = documents().flatMap(inlineCommands);
  expect(
    named
      .filter(({ words }) => words[0] === 'node' && words[1]?.endsWith('.ts'))
      .map(({ document, words }) => `${document}: ${words.join(' ')}`),
  ).toEqual([]);
});

test('commands that a sentence names exist, with their options', async () => {
  const programs = [await createProgram(['', '']), await createProgram(['', '', 'local'])];
  const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Record<string, string> };
  const wrong: string[] = [];
  for (const { document, words } of documents().flatMap(inlineCommands)) {
    const [program, first = '', second = ''] = words;
    const complain = (what: string) => wrong.push(`${document}: \`${words.join(' ')}\`: ${what}`);
    if (program === 'npm' && first === 'run' && scripts[second.replace(/^--silent$/, words[3] ?? '')] === undefined)
      complain('no such script');
    if (program === 'npx' && first === 'node' && !existsSync(join(root, second))) complain('no such file');
    if (program === 'holdfast') {
      const local = programs[1] as Command;
      const fault = faultOf(first === 'local' ? local : (programs[0] as Command), words.slice(1));
      if (fault !== undefined) complain(fault);
    }
  }
  expect(wrong).toEqual([]);
});

/** The first word or option that the command line does not know; `…` stands for any command of a group. */
function faultOf(program: Command, words: readonly string[]): string | undefined {
  let command = program;
  for (const word of words) {
    const nested = command.commands.find((candidate) => candidate.name() === word);
    const known = words.includes('…') ? [command, ...command.commands] : [command];
    if (nested !== undefined) command = nested;
    else if (word.startsWith('--') && !known.some((candidate) => hasOption(candidate, word)))
      return `no option ${word}`;
    else if (command === program && /^[a-z]/.test(word)) return `no command ${word}`;
  }
  return undefined;
}

function hasOption({ options }: Command, word: string): boolean {
  return word === '--help' || word === '--version' || options.some(({ long }) => long === word);
}
