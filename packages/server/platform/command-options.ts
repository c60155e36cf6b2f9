import { type ParseArgsConfig, parseArgs } from 'node:util';
import { StartFailure } from './start-failure.ts';

/** An option of a command, with a line for its help. */
interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly default?: string | boolean;
  /** What follows its name in the help; `N` accepts only whole numbers. */
  readonly value?: string;
  readonly about: string;
}

type Options = Readonly<Record<string, CommandOption>>;
type WithHelp<Own extends Options> = Own & { help: { type: 'boolean'; short: 'h'; default: false; about: string } };
type Parsed<Own extends Options> = ReturnType<
  typeof parseArgs<{ options: WithHelp<Own> & ParseArgsConfig['options']; allowPositionals: true }>
>;

/** A command that people type: `npm start`, and every script that takes options. */
export interface Command<Own extends Options> {
  /** How it is typed, without its options: `npm run fuzz -- [NAME…]`. */
  readonly usage: string;
  readonly about: string;
  readonly options: Own;
  readonly takesNames?: boolean;
}

/** The command line is wrong: the process ends with 2, as programs do. */
export class UsageMistake extends StartFailure {}

const help = { type: 'boolean', short: 'h', default: false, about: 'show this, and end' } as const;

export function describeCommand({ usage, about, options }: Command<Options>): string {
  const rows = Object.entries({ ...options, help }).map(([name, option]: [string, CommandOption]) => {
    const usual = typeof option.default === 'string' ? ` (${option.default})` : '';
    return [`--${name}${option.value ? ` ${option.value}` : ''}`, `${option.about}${usual}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`);
  return `${usage} [options]\n\n${about}\n\n${lines.join('\n')}\n`;
}

/** Parses the arguments of a command. Throws a mistake in one sentence. */
export function parseCommand<const Own extends Options>(command: Command<Own>, args: readonly string[]): Parsed<Own> {
  const { options, takesNames: allowPositionals = false } = command;
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options: { ...options, help }, allowPositionals });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/(?<=\.) /);
    throw mistake(sentence.replace(/\.?$/, '.'));
  }
  for (const [name, { value }] of Object.entries(options)) {
    const given = parsed.values[name];
    if (value === 'N' && given !== undefined && !/^\d{1,15}$/.test(String(given)))
      throw mistake(`--${name} takes a whole number, not ${JSON.stringify(given)}.`);
  }
  return parsed as Parsed<Own>;
}

/** The same for a script: shows help or a mistake, and does nothing else in both cases. */
export function readCommand<const Own extends Options>(command: Command<Own>): Parsed<Own> {
  try {
    const parsed = parseCommand(command, process.argv.slice(2));
    if (!(parsed.values as { help: boolean }).help) return parsed;
    process.stdout.write(describeCommand(command));
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageMistake)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

function mistake(sentence: string): UsageMistake {
  return new UsageMistake(`${sentence} The option --help lists what there is.`);
}
