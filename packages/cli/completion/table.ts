import type { Command, Option } from 'commander';
import { usualCommands } from '../service/options.ts';

export interface Word {
  readonly word: string;
  readonly description: string;
}

export interface OptionEntry {
  readonly long: string | undefined;
  readonly short: string | undefined;
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** What may follow a sequence of commands, such as `backup list`. */
export interface Entry {
  readonly way: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionEntry[];
  /** The allowed values of the argument, if it has a fixed set. */
  readonly values: readonly string[];
}

/** Everything that can be completed, read from the commands themselves. */
export function completionTable(program: Command): Entry[] {
  return [...entriesOf(program, '')];
}

function* entriesOf(command: Command, way: string): Generator<Entry> {
  const usual = usualCommands.get(command);
  const options = [...command.options, ...(usual?.options ?? []), command.createOption('-h, --help', 'show the help')];
  yield {
    way,
    commands: command.commands.map((nested) => ({
      word: nested.name(),
      description: firstSentence(nested.description()),
    })),
    options: options.filter(({ hidden }) => !hidden).map(optionEntry),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  };
  for (const nested of command.commands) yield* entriesOf(nested, `${way} ${nested.name()}`.trim());
}

function optionEntry({ long, short, description, required, optional, argChoices }: Option): OptionEntry {
  return {
    ...{ long, short },
    description: firstSentence(description),
    takesValue: required || optional,
    choices: argChoices ?? [],
  };
}

/** Quotes and similar characters mean something else in each shell, and a completion needs none of them. */
function firstSentence(text: string): string {
  return text
    .split(';')[0]!
    .replace(/[`'"\\$:[\]]/g, '')
    .trim();
}

export function optionWords({ options }: Entry): Word[] {
  return options.flatMap(({ long, short, description }) =>
    [long, short].flatMap((word) => (word === undefined ? [] : [{ word, description }])),
  );
}
