import { Command, InvalidArgumentError } from 'commander';

/** Options that every command against the service takes, declared once. */
export interface ServiceOptions {
  readonly url?: string;
  readonly organization?: string;
  readonly json?: boolean;
}

export function serviceCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--url <address>', 'the service (HOLDFAST_URL, or where `login` signed in)')
    .option('--organization <id>', 'work in this organization (HOLDFAST_ORGANIZATION)')
    .option('--json', 'JSON on the output instead of sentences');
}

/** The default command of a group, whose name may be left out. */
export const usualCommands = new WeakMap<Command, Command>();

/**
 * A word before others, such as `backup` in `backup list`. One of the commands may be left out, as in `backup
 * <project>`: the group's help shows its options too.
 */
export function groupCommand(
  name: string,
  description: string,
  commands: readonly Command[],
  usual?: Command,
): Command {
  const group = new Command(name).description(description);
  for (const command of commands) group.addCommand(command);
  if (usual === undefined) return group;
  group.addCommand(usual, { isDefault: true });
  usualCommands.set(group, usual);
  return group.addHelpText('after', () => `\n${usual.helpInformation()}`);
}

export interface ListOptions extends ServiceOptions {
  readonly limit: number;
}

export function listCommand(description: string): Command {
  return serviceCommand('list', description).option('--limit <count>', 'at most this many', positiveInteger, 50);
}

export interface WaitOptions extends ServiceOptions {
  readonly wait?: boolean;
}

export function withWait(command: Command): Command {
  return command.option('-w, --wait', 'wait until it has ended, and show its progress');
}

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a positive whole number.');
  return value;
}
