import { type Command, CommanderError } from 'commander';
import { exitCode } from './exit-codes.ts';
import type { Failure } from './failure.ts';
import { nearest } from './nearest.ts';

const meantMax = 4;

/** Runs a command line and turns every failure into a sentence and an exit code. */
export async function runCommand(program: Command, argv: readonly string[]): Promise<void> {
  prepare(program, 'holdfast', argv.includes('--json'));
  program.hook('preAction', (_, command) => requireWords(command));
  try {
    await requireCommand(program, argv[2] ?? '');
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = await report(error, program, argv);
  }
}

/**
 * Commander would end the process on its own, subcommands too. What is wrong stands first, then what was meant, then
 * where to read on; the whole help would push both off the screen.
 */
function prepare(command: Command, way: string, isJson: boolean): void {
  command.exitOverride();
  if (isJson) command.configureOutput({ outputError: () => undefined });
  else command.showHelpAfterError(`See \`${way} --help\`.`);
  for (const nested of command.commands) prepare(nested, `${way} ${nested.name()}`, isJson);
}

/** `verify` alone is `backup verify` or `local verify`: whoever left out the group is told which there are. */
async function requireCommand(program: Command, word: string): Promise<void> {
  const groups = program.commands.filter(({ commands }) => commands.length > 0);
  const names = [...program.commands.map((command) => command.name()), 'help'];
  if (!/^[a-z]/.test(word) || nearest(word, names) !== undefined) return;
  const { localCommand } = await import('./local/index.ts');
  const all = [...groups, localCommand()].flatMap((group) =>
    group.commands.map((command) => ({ name: command.name(), way: `\`holdfast ${group.name()} ${command.name()}\`` })),
  );
  const meant = nearest(
    word,
    all.map(({ name }) => name),
  );
  const ways = all.filter(({ name }) => name === meant).map(({ way }) => way);
  if (ways.length === 0) return;
  const last = ways.slice(0, meantMax).join(' or ');
  program.error(`error: unknown command '${word}'\n(Did you mean ${last}?)`, { code: 'commander.unknownCommand' });
}

/** A script whose variable is empty names nothing: `backup show "$ID"`. */
function requireWords(command: Command): void {
  const empty = command.registeredArguments[command.args.indexOf('')];
  if (empty !== undefined) command.error(`error: argument '${empty.name()}' is empty`);
}

async function report(error: unknown, program: Command, argv: readonly string[]): Promise<number> {
  const isJson = argv.includes('--json');
  if (error instanceof CommanderError) return reportUsage(error, isJson);
  // Knows the errors of the engine and of the service, whose libraries a good run does not both wait for.
  const { failureOf } = await import('./failure.ts');
  const failure = withMeantCommand(failureOf(error), program, argv);
  if (isJson) {
    const { code, message, remedy, details, requestId } = failure;
    process.stdout.write(`${JSON.stringify({ error: { code, message, remedy, details, requestId } })}\n`);
  } else process.stderr.write(`${sentencesOf(failure)}\n`);
  return failure.exit;
}

function reportUsage({ exitCode: code, message }: CommanderError, isJson: boolean): number {
  if (code === 0) return exitCode.ok;
  const [fault, meant] = message.replace(/^error: /, '').split('\n');
  const error = { code: 'VALIDATION_ERROR', message: fault, ...(meant && { remedy: meant.replace(/[()]/g, '') }) };
  if (isJson) process.stdout.write(`${JSON.stringify({ error })}\n`);
  return exitCode.usage;
}

/** `backup lst` asks for a project called lst: whoever mistyped `list` is told so. */
function withMeantCommand(failure: Failure, program: Command, argv: readonly string[]): Failure {
  if (failure.exit !== exitCode.notFound || failure.remedy !== undefined) return failure;
  const [group = '', word = ''] = argv.slice(2);
  const commands = program.commands.find((command) => command.name() === group)?.commands ?? [];
  const names = commands.map((command) => command.name());
  // A command that was spelled right is not what was mistyped.
  const meant = names.includes(word) ? undefined : nearest(word, names);
  return meant === undefined ? failure : { ...failure, remedy: `Did you mean \`holdfast ${group} ${meant}\`?` };
}

function sentencesOf({ code, message, remedy, requestId, stack }: Failure): string {
  if (stack !== undefined) return stack;
  const lines = [`${code}: ${message}`];
  if (remedy) lines.push(remedy);
  if (requestId) lines.push(`Request ${requestId}`);
  return lines.join('\n');
}
