import type { Client } from '@holdfast/contract/client';
import { type Command, Option } from 'commander';
import { formatCount, printJson, printLine, printTable } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { parseMoment } from '../moment.ts';
import { type ListOptions, listCommand, type ServiceOptions, serviceCommand } from '../options.ts';
import { webhookIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { webhookArgument } from './list.ts';

const statuses = ['pending', 'delivered', 'failed'] as const;

interface DeliveryOptions extends ListOptions {
  readonly status?: (typeof statuses)[number];
  readonly event?: string;
}

export function deliveriesCommand(): Command {
  return listCommand('what was sent to a webhook, newest first')
    .name('deliveries')
    .argument(...webhookArgument)
    .addOption(new Option('--status <status>', 'only in this state').choices(statuses))
    .option('-e, --event <name>', 'only of this event')
    .action(
      async (reference: string, options: DeliveryOptions) =>
        await withService(options, async ({ client }) => {
          const params = { webhookId: await webhookIdOf(client, reference) };
          const { status, event: eventType, limit } = options;
          const query = { status, eventType, limit: pageSize(limit) };
          await printList('deliveries', allDeliveries(client, { params, query }), options, {
            head: ['ID', 'EVENT', 'STATUS', 'ANSWER', 'ATTEMPTS', 'TIME', 'ERROR'],
            row: (delivery) => [
              delivery.id,
              delivery.isTest ? `${delivery.eventType} (test)` : delivery.eventType,
              delivery.status,
              delivery.statusCode === null ? '' : String(delivery.statusCode),
              formatCount(delivery.attempts),
              delivery.timestamp,
              delivery.lastError ?? '',
            ],
          });
        }),
    );
}

async function* allDeliveries(client: Client, input: Parameters<Client['listDeliveries']>[0]) {
  for await (const { data } of client.pages('listDeliveries', input)) yield* data.deliveries;
}

type OnDelivery = (
  client: Client,
  params: { webhookId: string; deliveryId: string },
  options: ServiceOptions,
) => Promise<void>;

function deliveryCommand(name: string, about: string, act: OnDelivery): Command {
  return serviceCommand(name, about)
    .argument(...webhookArgument)
    .argument('<delivery>', 'id')
    .action(
      async (reference: string, deliveryId: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          await act(client, { webhookId: await webhookIdOf(client, reference), deliveryId }, options);
        }),
    );
}

export function requestCommand(): Command {
  const about = 'what a delivery sent, and what came back on every attempt';
  return deliveryCommand('request', about, async (client, params, options) => {
    const request = await client.getDeliveryRequest({ params });
    if (options.json) return printJson(request);
    printLine(`${request.method} ${request.url}`);
    for (const [name, value] of Object.entries(request.headers)) printLine(`${name}: ${value}`);
    printLine(`\n${request.body}\n`);
    printTable([
      ['ATTEMPT', 'TIME', 'ANSWER', 'TOOK', 'ERROR'],
      ...request.attempts.map(({ attempt, timestamp, statusCode, duration, error }) => [
        String(attempt),
        timestamp,
        String(statusCode ?? ''),
        `${duration} ms`,
        error ?? '',
      ]),
    ]);
  });
}

export function retryCommand(): Command {
  return deliveryCommand('retry', 'send a delivery again, under the same id', async (client, params, options) => {
    const delivery = await client.retryDelivery({ params });
    if (options.json) printJson(delivery);
    else printLine(`${delivery.id} ${delivery.status}, ${formatCount(delivery.attempts)} attempts so far`);
  });
}

export function recoverCommand(): Command {
  return serviceCommand('recover', 'send again what failed since a time')
    .argument(...webhookArgument)
    .requiredOption('--since <time>', 'a time, or such as "2 hours ago"')
    .action(
      async (reference: string, options: ServiceOptions & { since: string }) =>
        await withService(options, async ({ client }) => {
          const params = { webhookId: await webhookIdOf(client, reference) };
          const body = { since: parseMoment(options.since) };
          const answer = await client.recoverWebhook({ params, body });
          if (options.json) return printJson(answer);
          printLine(`${formatCount(answer.recovered)} deliveries are sent again.`);
          if (answer.tryingAgain > 0)
            printLine(`${formatCount(answer.tryingAgain)} more are tried again by themselves.`);
          if (answer.hasMore) printLine('There are more: run this again for the rest.');
        }),
    );
}
