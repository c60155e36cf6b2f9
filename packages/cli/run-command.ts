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
 * Otherwise Commander, and each subcommand, would end the process itself. The error comes first, then what was probably
 * meant, then where to read more; the whole help would push both off the screen.
 */
function prepare(command: Command, way: string, isJson: boolean): void {
  command.exitOverride();
  if (isJson) command.configureOutput({ outputError: () => undefined });
  else command.showHelpAfterError(`See \`${way} --help\`.`);
  for (const nested of command.commands) prepare(nested, `${way} ${nested.name()}`, isJson);
}

/** `verify` alone could be `backup verify` or `local verify`, so a missing group gets a list of the candidates. */
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

/** An empty variable in a script names nothing: `backup show "$ID"`. */
function requireWords(command: Command): void {
  const empty = command.registeredArguments[command.args.indexOf('')];
  if (empty !== undefined) command.error(`error: argument '${empty.name()}' is empty`);
}

async function report(error: unknown, program: Command, argv: readonly string[]): Promise<number> {
  const isJson = argv.includes('--json');
  if (error instanceof CommanderError) return reportUsage(error, isJson);
  // Knows the errors of the engine and of the service; loaded on failure, so that a successful run does not wait for
  // the libraries of both.
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

/** `backup lst` looks for a project called lst, so the error also suggests `list`. */
function withMeantCommand(failure: Failure, program: Command, argv: readonly string[]): Failure {
  if (failure.exit !== exitCode.notFound || failure.remedy !== undefined) return failure;
  const [group = '', word = ''] = argv.slice(2);
  const commands = program.commands.find((command) => command.name() === group)?.commands ?? [];
  const names = commands.map((command) => command.name());
  // A correctly spelt command is not the mistyped word.
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
