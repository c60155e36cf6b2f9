import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** Commands that a page shows, fenced as `sh name`: the name tells tests which one it is. */
export interface ShellBlock {
  /** Such as `docs/cli.md`. */
  readonly document: string;
  /** Empty when the block has none. */
  readonly name: string;
  readonly text: string;
  readonly line: number;
}

const shellLanguages = new Set(['sh', 'bash', 'shell', 'console']);
/** A block that says no language, and begins like a command. */
const looksLikeCommand = /^(\$ |(npm|npx|node|holdfast|curl|docker|git|psql|gcloud|aws) )/;

export function documents(): string[] {
  const patterns = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'bench/**/*.md'];
  // The benchmarks' peers bring pages of their own along.
  const exclude = ['**/node_modules/**'];
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: root, exclude })).sort();
}

export function readDocument(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

/** Every block of commands, in the order of the page; those that say no language but look like commands too. */
export function shellBlocks(document: string): ShellBlock[] {
  const blocks: ShellBlock[] = [];
  let open: { language: string; name: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of readDocument(document).split('\n').entries()) {
    const fence = /^\s*```\s*(\S*)\s*(.*)$/.exec(line);
    if (open === undefined && fence)
      open = { language: fence[1] ?? '', name: fence[2] ?? '', line: index + 1, lines: [] };
    else if (open !== undefined && fence) {
      const isShell =
        shellLanguages.has(open.language) || (open.language === '' && looksLikeCommand.test(open.lines[0] ?? ''));
      if (isShell) blocks.push({ document, name: open.name, line: open.line, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    } else open?.lines.push(line);
  }
  return blocks;
}

export function shellBlock(document: string, name: string): ShellBlock {
  const found = shellBlocks(document).find((block) => block.name === name);
  if (!found) throw new Error(`${document} has no block \`sh ${name}\``);
  return found;
}

/** A program that a page shows, fenced with the name of its file. */
export function codeBlock(document: string, file: string): string {
  const blocks = readDocument(document).matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```/gm);
  const [, , code] = [...blocks].find(([, name]) => name === file) ?? [];
  if (code === undefined) throw new Error(`${document} shows no ${file}`);
  return code;
}

/** A command a page names in the middle of a sentence. */
export interface InlineCommand {
  readonly document: string;
  readonly words: readonly string[];
}

/** `holdfast …`, `npm run …`, `npx …` and `node …` between backticks, outside of blocks. */
export function inlineCommands(document: string): InlineCommand[] {
  const prose = readDocument(document).replace(/^\s*```[\s\S]*?^\s*```/gm, '');
  return [...prose.matchAll(/`((?:holdfast|npm|npx|node) [^`]+)`/g)].map(([, text = '']) => ({
    document,
    words: text.replace(/\s+/g, ' ').trim().split(' '),
  }));
}
