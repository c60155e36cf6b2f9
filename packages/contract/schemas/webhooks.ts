import { z } from 'zod';
import { minuteMs } from '../durations.ts';
import { eventFormats } from '../events/names.ts';
import { count, identifier, instant, integer, milliseconds, name, pageQuery, text, timestamp } from './primitives.ts';

const webhookUrl = z
  .url({ protocol: /^https$/, error: 'must be a valid HTTPS URL' })
  .max(2048, { error: 'must be a valid HTTPS URL' });

/**
 * An exact name, a prefix such as `backup.*`, or `*`; the allowed ones depend on the format and are checked with it.
 */
const subscriptions = z
  .array(text({ min: 1, max: 100 }))
  .min(1)
  .max(100)
  .describe('Exact names, a prefix wildcard such as `backup.*`, or `*`.');

/** Headers of the transport or of this service, which a customer cannot set. */
const reservedHeaders = new Set([
  'accept-encoding',
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
const reservedPrefixes = ['content-', 'proxy-', 'x-service-', 'x-webhook-', 'webhook-'];

export function isReservedHeader(header: string): boolean {
  const lower = header.toLowerCase();
  return reservedHeaders.has(lower) || reservedPrefixes.some((prefix) => lower.startsWith(prefix));
}

const headerName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'must be a header name' })
  .refine((header) => !isReservedHeader(header), { error: 'is reserved' });
const headerValue = z
  .string()
  .max(2000)
  .regex(/^[\t\x20-\x7e]*$/, { error: 'must be printable ASCII' });

/** Checked by hand so that the fault names the header: a record schema reports a bad key only as a bad record. */
const customHeaders = z
  .record(z.string().max(100), headerValue)
  .superRefine((headers, context) => {
    const names = Object.keys(headers);
    if (names.length > 50) context.addIssue({ code: 'custom', message: 'must hold at most 50 headers' });
    for (const header of names) {
      const checked = headerName.safeParse(header);
      const message = checked.error?.issues[0]?.message;
      if (message) context.addIssue({ code: 'custom', path: [header], message });
    }
  })
  .meta({ description: 'Sent with every delivery. Reserved and transport headers are refused.' });

const filterList = z
  .array(text({ min: 1, max: 100 }))
  .max(100)
  .optional();
const filters = z
  .strictObject({
    projects: filterList.describe('Only events of these projects. A restore from one into another is of both.'),
    trigger: filterList.describe('Only events with one of these triggers.'),
    excludeTrigger: filterList.describe('No events with one of these triggers.'),
  })
  .meta({ id: 'WebhookFilters', description: 'Narrows down which events are sent.' });

const timeout = integer({ min: 1000, max: minuteMs }).describe('Milliseconds for the whole request.');

export const webhook = z
  .object({
    id: identifier('whk'),
    name: text({ max: 100 }),
    url: webhookUrl,
    events: subscriptions,
    format: z.enum(eventFormats),
    enabled: z.boolean(),
    disabledBecause: z
      .enum(['gone'])
      .nullable()
      .describe(
        'Why the service disabled it: `gone` after a 410 answer. Null if a person disabled it, or while enabled.',
      ),
    headers: z
      .record(z.string(), headerValue)
      .meta({ description: 'Custom headers. Their values are shown to admins, and masked to others.' }),
    timeout,
    retryEnabled: z.boolean(),
    filters,
    lastTriggeredAt: timestamp().nullable(),
    failingSince: timestamp()
      .nullable()
      .describe('The first of the failed attempts since the last success; null after a success.'),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({ id: 'Webhook', description: 'A subscription to events.' });

export const webhookWithSecret = webhook
  .extend({ secret: text({ max: 300 }).nullable().describe('Masked; null when none is set.') })
  .meta({ id: 'WebhookWithSecret', description: 'A subscription to events, with its masked secret.' });

export const createdWebhook = z
  .object({
    id: identifier('whk'),
    name: text({ max: 100 }),
    url: webhookUrl,
    events: subscriptions,
    enabled: z.boolean(),
    createdAt: timestamp(),
    format: z.enum(eventFormats),
    secret: text({ max: 300 })
      .nullable()
      .optional()
      .describe(
        'The generated signing secret, shown once; null in a replayed answer, absent when the caller gave one.',
      ),
  })
  .meta({ id: 'CreatedWebhook', description: 'A new webhook.' });

export const updatedWebhook = z
  .object({ id: identifier('whk'), name: text({ max: 100 }), events: subscriptions, updatedAt: timestamp() })
  .meta({ id: 'UpdatedWebhook', description: 'What a change of a webhook answers.' });

export const toggledWebhook = z
  .object({ id: identifier('whk'), enabled: z.boolean(), updatedAt: timestamp() })
  .meta({ id: 'ToggledWebhook', description: 'Whether the webhook is enabled now.' });

export const rotatedWebhookSecret = z
  .object({
    id: identifier('whk'),
    secret: text({ max: 300 }).nullable(),
    previousSecretValidUntil: timestamp().nullable(),
  })
  .meta({
    id: 'RotatedWebhookSecret',
    description: 'The new secret, shown once. Until then the old one signs too.',
  });

const statusCode = integer({ min: 100, max: 599 });

export const webhookTest = z
  .object({
    webhookId: identifier('whk'),
    webhookName: text({ max: 100 }),
    event: text({ max: 100 }),
    url: webhookUrl,
    success: z.boolean().describe('Whether the endpoint accepted the delivery.'),
    statusCode: statusCode.nullable().describe('Null without an answer.'),
    error: text({ max: 2000 }).optional().describe('Why it failed.'),
    duration: milliseconds(),
  })
  .meta({ id: 'WebhookTest', description: 'The result of a test delivery.' });

export const delivery = z
  .object({
    id: identifier('dlv'),
    eventId: identifier('evt'),
    eventType: text({ max: 100 }),
    status: z.enum(['pending', 'delivered', 'failed']),
    statusCode: statusCode.nullable().describe('Of the last attempt; null without an answer.'),
    timestamp: timestamp(),
    duration: milliseconds().nullable().describe('Milliseconds of the last attempt.'),
    attempts: count(),
    nextAttemptAt: timestamp().nullable(),
    lastError: text({ max: 2000 }).optional(),
    isTest: z.boolean().describe('A sample that somebody sent with a test call; nothing has happened.'),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event on its way to one webhook.' });

export const deliveryRequest = z
  .object({
    id: identifier('dlv'),
    method: z.literal('POST'),
    url: webhookUrl,
    headers: z
      .record(z.string(), text({ max: 4000 }))
      .meta({ description: 'As sent, signature included. Values of custom headers are masked below admin.' }),
    body: z
      .string()
      .max(1_048_576)
      .regex(/^[\s\S]*$/)
      .describe('The raw body.'),
    signedWith: z
      .enum(['current', 'former'])
      .nullable()
      .describe('Whether the current secret signed it, or a former one. Null: not signed.'),
    attempts: z
      .array(
        z.object({
          attempt: integer({ min: 1, max: 1_000_000 }),
          timestamp: timestamp(),
          statusCode: statusCode.nullable(),
          duration: milliseconds(),
          error: text({ max: 2000 }).nullable(),
          responseBody: z
            .string()
            .max(16_384)
            .regex(/^[\s\S]*$/)
            .nullable()
            .describe(
              'The first 16 KiB of the answer. Only the newest 4 MiB of answers are kept; older ones are null.',
            ),
        }),
      )
      .max(1000)
      .describe('The newest thousand, in their order.'),
  })
  .meta({ id: 'WebhookDeliveryRequest', description: 'What was sent, and what came back on every attempt.' });

const secret = text({ min: 6, max: 256 }).describe(
  'Signs deliveries. Absent for the standard format: one is generated.',
);

export const createWebhookRequest = z.strictObject({
  name,
  url: webhookUrl,
  events: subscriptions,
  secret: secret.optional(),
  enabled: z.boolean().default(true),
  format: z.enum(eventFormats).default('standard').describe('Fixed once the webhook exists.'),
  headers: customHeaders.default({}),
  timeout: timeout.default(30_000),
  retryEnabled: z.boolean().default(true),
  filters: filters.default({}),
});

export const updateWebhookRequest = z.strictObject({
  name: name.optional(),
  url: webhookUrl.optional(),
  events: subscriptions.optional(),
  secret: secret.optional(),
  enabled: z.boolean().optional(),
});

export const patchWebhookRequest = updateWebhookRequest.extend({
  headers: customHeaders.optional(),
  timeout: timeout.optional(),
  retryEnabled: z.boolean().optional(),
  filters: filters.optional(),
});

export const toggleWebhookRequest = z.strictObject({ enabled: z.boolean() });
export const testWebhookRequest = z.strictObject({
  event: text({ min: 1, max: 100 }).optional().describe('Absent: `backup.completed`.'),
});
export const recoverWebhookRequest = z.strictObject({
  since: instant().describe('Deliveries that failed since then are sent again.'),
});
export const recoveredWebhook = z
  .object({
    recovered: count(),
    tryingAgain: count().describe('Deliveries that failed so far and are retried automatically.'),
    hasMore: z.boolean().describe('More failed than one call sends again (20,000): call again for the rest.'),
  })
  .meta({ id: 'RecoveredWebhook', description: 'How many deliveries are sent again.' });

export const listDeliveriesQuery = pageQuery.extend({
  status: z.enum(['pending', 'delivered', 'failed']).optional(),
  eventType: text({ min: 1, max: 100 }).optional(),
});
