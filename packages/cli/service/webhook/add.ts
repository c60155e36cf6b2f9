import { eventFormats } from '@holdfast/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { readKeyFile } from '../key-file.ts';
import { positiveInteger, type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { requireShown } from '../shown-once.ts';

interface AddOptions extends ServiceOptions {
  readonly events: string[];
  readonly format: (typeof eventFormats)[number];
  readonly secretFile?: string;
  readonly header?: Record<string, string>;
  readonly timeoutMs?: number;
  readonly retry: boolean;
  readonly project?: string[];
}

export function addCommand(): Command {
  return serviceCommand('add', 'send events to an HTTPS address; its secret is shown once')
    .argument('<name>', 'what to call it')
    .argument('<url>', 'where events go')
    .option('-e, --events <names...>', 'such as backup.completed, "backup.*" or "*"', ['*'])
    .addOption(new Option('--format <format>', 'fixed once it exists').choices(eventFormats).default('standard'))
    .option('--secret-file <file>', 'sign with this secret; - reads it from the input; absent: one is made')
    .option('--header <name:value>', 'sent with every delivery; may be given again', addHeader)
    .option('--timeout-ms <milliseconds>', 'how long the receiver may take (30000)', positiveInteger)
    .option('--no-retry', 'send once, also when it fails')
    .option('-p, --project <projects...>', 'only events of these projects')
    .action(
      async (name: string, url: string, options: AddOptions) =>
        await withService(options, async ({ client }) => {
          const { events, format, header, timeoutMs, secretFile } = options;
          const projects = await Promise.all((options.project ?? []).map((project) => projectIdOf(client, project)));
          const created = await client.createWebhook({
            body: {
              ...{ name, url, events, format, retryEnabled: options.retry },
              ...(header && { headers: header }),
              ...(timeoutMs && { timeout: timeoutMs }),
              ...(projects.length > 0 && { filters: { projects } }),
              ...(secretFile && { secret: (await readKeyFile(secretFile)).trim() }),
            },
          });
          requireSecret(created);
          if (options.json) return printJson(created);
          showSecret(created.secret, `${created.id}: ${name} is told of ${events.join(', ')}.`);
        }),
    );
}

export function requireSecret({ id, secret }: { id: string; secret?: string | null | undefined }): void {
  const remedy = `Make another one: \`holdfast webhook rotate-secret ${id}\`.`;
  requireShown(secret, `${id} has a new secret`, remedy);
}

/** Prints only the secret to the output, so that it can be piped into a safe. */
export function showSecret(secret: string | null | undefined, sentence: string): void {
  if (!secret) {
    printLine(sentence);
    return;
  }
  process.stderr.write(`${sentence}\nIts secret is shown this once:\n`);
  printLine(secret);
}

function addHeader(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('A header looks like Name: value.');
  return { ...before, [name]: value };
}
