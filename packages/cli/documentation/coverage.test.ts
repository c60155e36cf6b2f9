import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { registry as benches } from '../../../bench/registry.ts';
import { documents, fences, inlineCommands, readDocument, shellBlocks } from '../../server/testing/documentation.ts';
import { createProgram } from '../program.ts';
import { blocksNotRun, blocksRunBy, sentencesNotRun, sentencesRunBy } from './testing/who-runs.ts';

const root = join(import.meta.dirname, '../../..');

const blocks = documents().flatMap(shellBlocks);

test('every block of commands has its own name in its page', () => {
  const nameless = blocks
    .filter(({ name }) => !/^[a-z][a-z0-9-]*$/.test(name))
    .map(({ document, line }) => `${document}:${line}`);
  expect(nameless).toEqual([]);
  const names = blocks.map(({ document, name }) => `${document}#${name}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every block of commands is run by an existing test, or has a reason why it cannot be', () => {
  for (const { document, name } of blocks) {
    const place = `${document}#${name}`;
    const file = blocksNotRun[place] === undefined ? (blocksRunBy[place] ?? blocksRunBy[document]) : undefined;
    expect(blocksNotRun[place] ?? file, `nobody runs ${place}`).toBeDefined();
    if (file === undefined) continue;
    const text = readFileSync(join(root, file), 'utf8');
    expect(text, `${file} does not mention ${document}`).toContain(document.replace(/^packages\/contract\//, ''));
  }
  const places = new Set(blocks.flatMap(({ document, name }) => [document, `${document}#${name}`]));
  expect([...Object.keys(blocksRunBy), ...Object.keys(blocksNotRun)].filter((place) => !places.has(place))).toEqual([]);
});

test('no page uses the Node of the machine, which may be too old for TypeScript', () => {
  const bare = /(^|[|&;] *)node [\w./-]+\.ts/m;
  expect(blocks.filter(({ text }) => bare.test(text)).map(({ document, line }) => `${document}:${line}`)).toEqual([]);
  const named = documents().flatMap(inlineCommands);
  expect(
    named
      .filter(({ words }) => words[0] === 'node' && words[1]?.endsWith('.ts'))
      .map(({ document, words }) => `${document}: ${words.join(' ')}`),
  ).toEqual([]);
});

test('every fenced block has a language that is known to contain commands or not', () => {
  const known = /^(sh|ts|js|python|go|json|yaml|sql|nginx|ini|)$/;
  const others = documents().flatMap((document) => fences(document).filter(({ language }) => !known.test(language)));
  expect(others).toEqual([]);
  // An administrator types these into psql; packages/cli/documentation/operations.test.ts runs them.
  const sql = documents().filter((document) => fences(document).some(({ language }) => language === 'sql'));
  expect(sql).toEqual(['docs/operations.md']);
  // packages/cli/documentation/proxy.test.ts runs this configuration in front of a service.
  const proxies = documents().filter((document) => fences(document).some(({ language }) => language === 'nginx'));
  expect(proxies).toEqual(['docs/firebase.md']);
});

/** The pages to check. The changelog and the decisions are about the past, and CONTRIBUTING is about development. */
const isPage = (document: string) => /^(README\.md|docs\/[\w-]+\.md)$/.test(document);

test('every command that a sentence names is run by a test, or has a reason why not', async () => {
  const programs = [await createProgram(['', '']), await createProgram(['', '', 'local'])] as [Command, Command];
  const wayOf = (words: readonly string[]) => deepest(programs[words[1] === 'local' ? 1 : 0], words.slice(1));
  const ran = new Set(
    blocks
      .filter(({ document, name }) => blocksNotRun[`${document}#${name}`] === undefined)
      .flatMap(({ text }) => [...text.matchAll(/\bholdfast ([^;|#\n]+)/g)].map(([line]) => wayOf(line.split(' ')))),
  );
  const open: string[] = [];
  for (const { document, words } of documents().filter(isPage).flatMap(inlineCommands)) {
    const text = words.join(' ');
    const file = sentencesRunBy.find(([pattern]) => pattern.test(text))?.[1];
    if (file !== undefined) {
      expect(existsSync(join(root, file)), file).toBe(true);
      continue;
    }
    if (sentencesNotRun.some(([pattern]) => pattern.test(text))) continue;
    // `aws …` names a program, and usage.test.ts reads every --help.
    const isName = words[1] === '…' || words.at(-1) === '--help';
    const isRun = words[0] === 'holdfast' && (words.includes('…') || ran.has(wayOf(words)));
    if (!isName && !isRun) open.push(`${document}: \`${text}\``);
  }
  expect(open).toEqual([]);
});

test('the reader is told what no test runs, with the reason', () => {
  const page = readDocument('docs/README.md');
  const reasons = [...Object.values(blocksNotRun), ...sentencesNotRun.map(([, reason]) => reason)];
  expect([...new Set(reasons)].filter((reason) => !page.includes(reason))).toEqual([]);
});

test('benches that a sentence names exist', () => {
  const names = Object.keys(benches);
  const named = documents()
    .filter(isPage)
    .flatMap(inlineCommands)
    .filter(({ words }) => words[2] === 'bench' && /^[a-z]/.test(words[4] ?? ''))
    .map(({ words }) => words[4] as string);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !names.some((each) => each === name || each.startsWith(`${name}-`)))).toEqual([]);
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

test('commands that the advice of an error names exist, with their options', async () => {
  const program = await createProgram(['', '']);
  const advised = ['packages/contract/errors.ts', 'packages/server/modules/job-error.ts']
    .flatMap((file) => [...readDocument(file).matchAll(/\bholdfast ([a-z-]+ [a-z-]+(?: --[a-z-]+)*)/g)])
    .map(([, words = '']) => words.split(' '));
  expect(advised.length).toBeGreaterThan(5);
  for (const words of advised) {
    expect(faultOf(program, words), words.join(' ')).toBeUndefined();
    expect(deepest(program, words)).toBe(words.slice(0, 2).join(' '));
  }
});

/** The command that these words lead to, such as `storage purge`; a group's default command counts as named. */
function deepest(program: Command, words: readonly string[]): string {
  let command = program;
  const way: string[] = [];
  for (const word of words) {
    const nested = command.commands.find((candidate) => candidate.name() === word);
    if (nested === undefined) break;
    command = nested;
    way.push(word);
  }
  return way.join(' ');
}

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
