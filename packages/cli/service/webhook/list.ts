import type { Command } from 'commander';
import { printJson } from '../../output.ts';
import { pageSize, printList, printRecord } from '../lists.ts';
import { type ListOptions, listCommand as listOf, type ServiceOptions, serviceCommand } from '../options.ts';
import { webhookIdOf } from '../references.ts';
import { withService } from '../session.ts';

export const webhookArgument = ['<webhook>', 'id or name'] as const;

export function listCommand(): Command {
  return listOf('list the webhooks, newest first').action(
    async (options: ListOptions) =>
      await withService(options, async ({ client }) => {
        const webhooks = client.paginate('listWebhooks', { query: { limit: pageSize(options.limit) } });
        await printList('webhooks', webhooks, options, {
          head: ['ID', 'NAME', 'URL', 'FORMAT', 'EVENTS', 'STATE', 'LAST EVENT'],
          row: ({ id, name, url, format, events, enabled, lastTriggeredAt }) => [
            id,
            name,
            url,
            format,
            events.join(', '),
            enabled ? 'on' : 'off',
            lastTriggeredAt ?? '',
          ],
        });
      }),
  );
}

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a webhook')
    .argument(...webhookArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const webhook = await client.getWebhook({ params: { webhookId: await webhookIdOf(client, reference) } });
          if (options.json) return printJson(webhook);
          printRecord({
            Id: webhook.id,
            Name: webhook.name,
            URL: webhook.url,
            Format: webhook.format,
            Events: webhook.events.join(', '),
            State: webhook.enabled ? 'on' : 'off',
            Secret: webhook.secret,
            Headers: Object.keys(webhook.headers).join(', '),
            Timeout: `${webhook.timeout} ms`,
            Retries: webhook.retryEnabled ? 'yes' : 'no',
            'Last event': webhook.lastTriggeredAt,
            Created: webhook.createdAt,
          });
        }),
    );
}
