import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<Own extends Options> = ReturnType<typeof parseArgs<{ options: Own }>>['values'];

export interface RunningSandbox {
  /** The lines that print its addresses. */
  readonly lines: readonly string[];
  stop(): Promise<unknown>;
}

/**
 * Runs a sandbox in a separate process: it prints its addresses once it is ready and runs until it is told to stop. A
 * mistake in the command is reported in one sentence.
 */
export async function runSandbox<const Own extends Options>(
  options: Own,
  start: (values: Values<Own>) => Promise<RunningSandbox>,
): Promise<void> {
  try {
    if (process.argv.some((argument) => argument === '--help' || argument === '-h')) {
      process.stdout.write(`${usage(options)}\n`);
      return;
    }
    const sandbox = await start(parseArgs({ options }).values);
    process.stdout.write(sandbox.lines.map((line) => `${line}\n`).join(''));
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => void sandbox.stop().then(() => process.exit(0)));
  } catch (error) {
    process.stderr.write(`${sentence(error)}\n`);
    process.exit(1);
  }
}

function usage(options: Options): string {
  const lines = Object.entries(options).map(([name, { type, multiple, default: usual }]) => {
    const notes = [multiple && 'can be repeated', usual !== undefined && `default ${String(usual) || 'none'}`];
    return `  --${name}${type === 'string' ? ' …' : ''}  ${notes.filter(Boolean).join('; ')}`.trimEnd();
  });
  return ['Options:', ...lines].join('\n');
}

function sentence(error: unknown): string {
  const { code = '', message, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `Port ${port} is taken by another program. Choose another one with --port.`;
  if (!code.startsWith('ERR_PARSE_ARGS')) return message;
  const [first = ''] = message.split(/(?<=\.) /);
  return `${first.replace(/\.?$/, '.')} The option --help lists what there is.`;
}
