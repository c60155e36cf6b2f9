import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { exitCode } from '../../exit-codes.ts';
import { printJson, printLine } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { webhookIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { requireSecret, showSecret } from './add.ts';
import { webhookArgument } from './list.ts';

export function testCommand(): Command {
  return serviceCommand('test', 'send a sample event now and tell what came back')
    .argument(...webhookArgument)
    .option('-e, --event <name>', 'which event (backup.completed)')
    .action(
      async (reference: string, options: ServiceOptions & { event?: string }) =>
        await withService(options, async ({ client }) => {
          const webhookId = await webhookIdOf(client, reference);
          const body = options.event === undefined ? {} : { event: options.event };
          const result = await client.testWebhook({ params: { webhookId }, body });
          if (!result.success) process.exitCode = exitCode.unavailable;
          if (options.json) return printJson(result);
          const outcome = result.success ? 'taken' : `not taken: ${result.error ?? 'no reason was given'}`;
          printLine(`${result.event} ${outcome} (${result.statusCode ?? 'no answer'}, ${result.duration} ms)`);
        }),
    );
}

export function rotateSecretCommand(): Command {
  return serviceCommand('rotate-secret', 'make a new secret; the old one also signs for 24 hours')
    .argument(...webhookArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const webhookId = await webhookIdOf(client, reference);
          const rotated = await client.rotateWebhookSecret({ params: { webhookId } });
          requireSecret(rotated);
          if (options.json) return printJson(rotated);
          showSecret(rotated.secret, `The old secret of ${reference} signs until ${rotated.previousSecretValidUntil}.`);
        }),
    );
}

const switchCommand = (name: string, description: string, enabled: boolean) => (): Command =>
  serviceCommand(name, description)
    .argument(...webhookArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const webhookId = await webhookIdOf(client, reference);
          const toggled = await client.toggleWebhook({ params: { webhookId }, body: { enabled } });
          if (options.json) printJson(toggled);
          else printLine(`${reference} is ${toggled.enabled ? 'on' : 'off'}.`);
        }),
    );

export const switchCommands = [
  switchCommand('enable', 'send events again', true),
  switchCommand('disable', 'send nothing until `enable`', false),
];

export function deleteCommand(): Command {
  return withYes(serviceCommand('delete', 'delete a webhook and the records of its deliveries'))
    .argument(...webhookArgument)
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          const webhookId = await webhookIdOf(client, reference);
          await confirm(`Delete the webhook ${reference} with its deliveries?`, options);
          const message = await client.deleteWebhook({ params: { webhookId } });
          if (options.json) printJson({ id: webhookId, deleted: true });
          else printLine(message);
        }),
    );
}
