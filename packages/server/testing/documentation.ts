import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** Commands in a page, fenced as `sh name`; tests find them by the name. */
export interface ShellBlock {
  /** Such as `docs/cli.md`. */
  readonly document: string;
  /** Empty when the block has none. */
  readonly name: string;
  readonly text: string;
  readonly line: number;
}

const shellLanguages = new Set(['sh', 'bash', 'shell', 'console']);
/** A block without a language that begins like a command. */
const looksLikeCommand = /^(\$ |(npm|npx|node|holdfast|curl|docker|git|psql|gcloud|aws) )/;

export function documents(): string[] {
  const patterns = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'bench/**/*.md'];
  // The benchmarks' peers have pages of their own.
  const exclude = ['**/node_modules/**'];
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: root, exclude })).sort();
}

export function readDocument(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

interface Fence {
  readonly document: string;
  readonly language: string;
  readonly name: string;
  readonly line: number;
  readonly lines: readonly string[];
}

/** Everything between fences, in the order of the page. */
export function fences(document: string): Fence[] {
  const found: Fence[] = [];
  let open: (Fence & { lines: string[] }) | undefined;
  for (const [index, line] of readDocument(document).split('\n').entries()) {
    const fence = /^\s*```\s*(\S*)\s*(.*)$/.exec(line);
    if (open === undefined && fence) {
      const [, language = '', name = ''] = fence;
      open = { document, language, name, line: index + 1, lines: [] };
      found.push(open);
    } else if (fence) open = undefined;
    else open?.lines.push(line);
  }
  return found;
}

/** Every block of commands, in the order of the page, including blocks without a language that look like commands. */
export function shellBlocks(document: string): ShellBlock[] {
  const isShell = ({ language, lines }: Fence) =>
    shellLanguages.has(language) || (language === '' && looksLikeCommand.test(lines[0] ?? ''));
  return fences(document)
    .filter(isShell)
    .map(({ name, line, lines }) => ({ document, name, line, text: `${lines.join('\n')}\n` }));
}

export function shellBlock(document: string, name: string): ShellBlock {
  const found = shellBlocks(document).find((block) => block.name === name);
  if (!found) throw new Error(`${document} has no block \`sh ${name}\``);
  return found;
}

/** A program in a page, fenced with the name of its file. */
export function codeBlock(document: string, file: string): string {
  const found = fences(document).find(({ name }) => name === file);
  if (!found) throw new Error(`${document} shows no ${file}`);
  return `${found.lines.join('\n')}\n`;
}

/** A command in the middle of a sentence. */
export interface InlineCommand {
  readonly document: string;
  readonly words: readonly string[];
}

/** Programs that people type into a shell. */
const typed =
  /^(holdfast|npm|npx|node|curl|docker|git|psql|pg_dump|pg_restore|gcloud|firebase|aws|helm|kubectl|systemctl|promtool|openssl|kill|sudo|cp) \S/;

/** Text between backticks outside blocks that begins like a command, also after settings (`PORT=1 npm start`). */
export function inlineCommands(document: string): InlineCommand[] {
  const prose = readDocument(document).replace(/^\s*```[\s\S]*?^\s*```/gm, '');
  return [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, text = '']) =>
      text
        .replace(/\s+/g, ' ')
        .replace(/^([A-Z_]+=\S* )+/, '')
        .trim(),
    )
    .filter((text) => typed.test(text))
    .map((text) => ({ document, words: text.split(' ') }));
}
