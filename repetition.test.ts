import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** So many lines in the same words are a passage, and want one place; fewer are a manner of speaking. */
const passageLines = 6;

/** The engine and the sandbox speak the same protocols and share nothing, so that one can prove the other. */
function isAcrossTheWall(one: string, other: string): boolean {
  const sides = [one, other].map((path) => /^packages\/(engine|sandbox)\//.exec(path)?.[1]);
  return sides.includes('engine') && sides.includes('sandbox');
}

/** Operations and schemas of the contract are rows of a table: each is read by itself, and two may say the same. */
const isContractRow = (path: string) => /^packages\/contract\/(operations|schemas)\//.test(path);

interface Line {
  readonly text: string;
  readonly number: number;
}

interface Source {
  readonly path: string;
  /** Those that say something: no blank ones, comments, imports or lone punctuation. White space is folded. */
  readonly lines: readonly Line[];
}

function sourceOf(path: string, text: string): Source {
  const blanked = (passage: string) => passage.replace(/[^\n]/g, '');
  const lines = text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, blanked)
    .replace(/^(?:import|export)\s(?:type\s)?(?:[\w*{][^'"`;=()]*?from\s+)?'[^']+'.*;$/gm, blanked)
    .split('\n')
    .map((line, index) => ({ text: line.trim().replace(/\s+/g, ' '), number: index + 1 }))
    .filter((line) => /\w/.test(line.text) && !line.text.startsWith('//'));
  return { path, lines };
}

/** Where a passage begins, counted in lines that say something. */
interface Place {
  readonly source: Source;
  readonly index: number;
}

interface Repetition {
  readonly earlier: Place;
  readonly later: Place;
  lines: number;
}

function mayRepeat(earlier: Place, later: Place): boolean {
  const [one, other] = [earlier.source.path, later.source.path];
  if (isAcrossTheWall(one, other) || (isContractRow(one) && isContractRow(other))) return true;
  return one === other && later.index - earlier.index < passageLines;
}

/** Each passage that stands somewhere before, once, as long as it goes on. */
function repetitionsIn(sources: readonly Source[]): string[] {
  const known = new Map<string, Place[]>();
  const found: Repetition[] = [];
  for (const source of sources) {
    let open: Repetition | undefined;
    for (let index = 0; index + passageLines <= source.lines.length; index += 1) {
      const later: Place = { source, index };
      const passage = source.lines.slice(index, index + passageLines);
      const text = passage.map((line) => line.text).join('\n');
      const places = known.get(text) ?? [];
      if (open && places.some((place) => goesOn(open, place, later))) open.lines += 1;
      else {
        const earlier = places.find((place) => !mayRepeat(place, later));
        open = earlier && { earlier, later, lines: passageLines };
        if (open) found.push(open);
      }
      known.set(text, [...places, later]);
    }
  }
  return found.map(({ earlier, later, lines }) => `${named(earlier, lines)} stands again in ${named(later, lines)}`);
}

function goesOn(open: Repetition | undefined, earlier: Place, later: Place): boolean {
  return (
    open?.earlier.source === earlier.source && earlier.index - open.earlier.index === later.index - open.later.index
  );
}

function named({ source, index }: Place, lines: number): string {
  return `${source.path}:${source.lines[index]?.number}-${source.lines[index + lines - 1]?.number}`;
}

test('no passage of six lines stands twice', () => {
  const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.tsx'], { encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(path));
  expect(paths.length).toBeGreaterThan(1000);
  expect(repetitionsIn(paths.map((path) => sourceOf(path, readFileSync(path, 'utf8'))))).toEqual([]);
});

test('a passage is found whatever stands between its lines, and both places are named', () => {
  const lines = Array.from({ length: 7 }, (_, index) => `const value${index} = ${index};`);
  const spread = lines.join('\n  // why\n\n  ');
  const first = sourceOf('packages/engine/a.ts', `import { one } from 'one';\n${lines.join('\n')}\n`);
  const second = sourceOf('packages/engine/b.ts', `{\n${spread}\n}\nconst end = 1;\n`);
  expect(repetitionsIn([first, second])).toEqual([
    'packages/engine/a.ts:2-8 stands again in packages/engine/b.ts:2-20',
  ]);
  expect(repetitionsIn([first, sourceOf('packages/engine/c.ts', lines.slice(0, 5).join('\n'))])).toEqual([]);
});

test('the engine and the sandbox may say the same, two files of one of them may not', () => {
  const text = Array.from({ length: 6 }, (_, index) => `const value${index} = ${index};`).join('\n');
  const [engine, sandbox, other] = ['engine/a.ts', 'sandbox/a.ts', 'sandbox/b.ts'].map((path) =>
    sourceOf(`packages/${path}`, text),
  ) as [Source, Source, Source];
  expect(repetitionsIn([engine, sandbox])).toEqual([]);
  expect(repetitionsIn([engine, sandbox, other])).toEqual([
    'packages/sandbox/a.ts:1-6 stands again in packages/sandbox/b.ts:1-6',
  ]);
});
