import { readFileSync, writeFileSync } from 'node:fs';
import { type EventDefinition, type EventFormat, eventNames, events, pathOf, sampleMetadata } from '@holdfast/contract';
import { z } from 'zod';
import { deliveryRetentionDays } from '../log/retention.ts';
import { attemptsMax } from '../sending/retry-policy.ts';

/** `docs/webhooks.md`, made from the contract: run this file to write it. A test fails when they drift apart. */
export const documentationPath = new URL('../../../../../docs/webhooks.md', import.meta.url);
const receiversPath = new URL('../../../../../docs/receivers/', import.meta.url);

interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  format?: string;
  description?: string;
}

export function writeDocumentation(): string {
  return `${[introduction, ...receivers(), '## Events', ...eventNames.map((name) => eventSection(events[name]))].join('\n\n')}\n`;
}

const introduction = `# Webhooks

<!-- Written by packages/server/modules/webhooks/requests/documentation.ts; change it there. -->

A webhook is an HTTPS address of yours that Holdfast calls when something happens. Create one with
\`POST ${pathOf('createWebhook')} {name, url, events}\`. \`events\` takes exact names, prefixes such as \`backup.*\`, and \`*\`;
wildcards also match events that are added later. \`filters\` narrow it down: \`projects\` (ids), \`trigger\` and
\`excludeTrigger\`. A restore from one project into another concerns both. Projects and triggers that do not exist are refused. An event without a project or trigger does not pass \`projects\` or \`trigger\`.

## Two formats

| | \`standard\` (default) | \`simple\` |
|---|---|---|
| Events | all below | those below that show a simple sample |
| Body | \`{id, type, timestamp, data, metadata}\` | \`{event, timestamp, data}\` |
| Durations | milliseconds | seconds |
| What is not known yet | is absent | is null |
| Signature | \`X-Service-Signature: sha256=<hex>\` of \`<X-Service-Timestamp>.<raw body>\` | \`X-Webhook-Signature: sha256=<hex>\` of the raw body, only with a secret |
| Further headers | \`X-Service-Timestamp\` (seconds), \`X-Service-Delivery-Id\`, \`webhook-id\`, \`webhook-timestamp\`, \`webhook-signature\` | \`X-Webhook-Event\`, \`X-Webhook-Timestamp\`, \`X-Webhook-Id\` |
| Attempts | ${attemptsMax}: at once, then 1, 5, 30 and 120 minutes after the end of the one before | one |

Both signatures are HMAC-SHA256 with the whole secret as UTF-8. Verify the raw bytes you received, before parsing them, and refuse standard
deliveries whose timestamp is more than 300 seconds off. Standard deliveries also carry the headers of
[Standard Webhooks](https://www.standardwebhooks.com), so its libraries verify them as they are; their key is what follows \`whsec_\`, decoded
from base64, and of any other secret its UTF-8 bytes.

Without a secret of your own a standard webhook gets one, shown once. \`POST …/rotate-secret\` gives a new one; for 24 hours \`webhook-signature\`
lists a signature of each, \`X-Service-Signature\` is of the new one and \`X-Service-Signature-Previous\` of the old one; in the simple format
\`X-Webhook-Signature\` and \`X-Webhook-Signature-Previous\`. After further rotations within that time each former secret keeps its own 24 hours: the one
before the old one signs in \`…-Previous-2\`, and so on, up to 20. A secret that you set yourself replaces all of them at once.

## Delivery

- At least once: after a crash a delivery may come again. Its id (\`X-Service-Delivery-Id\`, \`metadata.deliveryId\`) is the same on every
  attempt; use it to detect duplicates. Deliveries are not ordered.
- Any 2xx within \`timeout\` (1–60 s, default 30 s, the whole answer included) is success. Redirects are failures and are not followed. \`410\`
  disables the webhook, also as the answer to a test. \`Retry-After\` makes the next attempt later, never earlier, and by two hours at most.
- \`metadata.trigger\` and \`metadata.scheduleId\` (null when no schedule started the backup) are in every backup event, in \`schedule.triggered\` and in \`schedule.failed\`.
- \`metadata.attempt\` counts attempts, including manual ones. Events named \`*.failed\` also have \`maxAttempts\`, the number of automatic attempts, and \`willRetry\`:
  whether another automatic attempt follows if this one fails. After five failures and a retry by hand they say \`attempt: 6\`, \`maxAttempts: 5\` and \`willRetry: false\`.
- \`retryEnabled: false\` means one attempt. A disabled webhook gets nothing, and events from that time are not sent later; a retry
  that becomes due then ends as failed.
- After an organization was deleted, events from before are still delivered; retries, except of \`organization.deleted\` itself, wait until it is recovered.
- \`GET …/deliveries\` lists what was sent, \`GET …/deliveries/{id}/request\` shows the request and each answer (its first 16 KiB), \`POST
  …/deliveries/{id}/retry\` sends one again, \`POST …/recover {since}\` everything that failed since then, but no samples of a test. Neither sends to a disabled webhook (\`INVALID_STATE\`). The log goes back ${deliveryRetentionDays} days.
- \`POST …/test {event}\` sends a sample now, also to a disabled webhook, and returns the result in \`data.success\`.
- Only \`https:\` addresses that are routed on the internet are dialled: never loopback, private, link-local, carrier-grade NAT, metadata or
  reserved ones, nor IPv6 forms that embed or translate IPv4. It is checked on the very address that is dialled. The operator opens subnets of an
  intranet with \`OUTBOUND_ALLOWED_SUBNETS\`, and adds certificates with \`NODE_EXTRA_CA_CERTS\`.

## Receivers

Complete programs, one per language; they verify both formats and detect duplicates. Set \`WEBHOOK_SECRET\`, without which they do not start, and \`PORT\`.
Where the [package](../packages/contract/README.md#the-webhook-receiver) is installed, its \`verifyWebhook\` does the same for the standard format.`;

function receivers(): string[] {
  const languages = [
    ['TypeScript', 'ts', 'receiver.ts'],
    ['Python', 'python', 'receiver.py'],
    ['Go', 'go', 'receiver.go'],
  ];
  return languages.map(([title, fence, file]) => {
    const code = readFileSync(new URL(file as string, receiversPath), 'utf8').trimEnd();
    return `### ${title}\n\n\`\`\`${fence}\n${code}\n\`\`\``;
  });
}

function eventSection(event: EventDefinition): string {
  const parts = [`### ${event.name}`, event.description];
  for (const format of ['standard', 'simple'] as const) {
    const shape = event.formats[format];
    if (!shape) continue;
    const schema = z.toJSONSchema(shape.data, { reused: 'inline', unrepresentable: 'any' }) as JsonSchema;
    const rows = fieldRows(schema, '', schema.$defs ?? {});
    parts.push(`\`data\` in the ${format} format:`);
    parts.push(`| Field | Type | |\n|---|---|---|\n${rows.join('\n')}`);
    parts.push(`\`\`\`json\n${JSON.stringify(envelope(format, event, shape.sample), null, 2)}\n\`\`\``);
  }
  return parts.join('\n\n');
}

/** One row per field, nested ones with their path. */
function fieldRows(schema: JsonSchema, prefix: string, named: Record<string, JsonSchema>): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const field = named[given.$ref?.split('/').at(-1) ?? ''] ?? given;
    const inner = field.type === 'array' ? field.items : field;
    const path = `${prefix}${name}${field.type === 'array' ? '[]' : ''}`;
    const notes = [schema.required?.includes(name) ? '' : 'optional', field.description ?? ''].filter(
      (note) => note !== '',
    );
    const row = `| \`${path}\` | ${typeOf(field)} | ${notes.join('; ')} |`;
    return [row, ...(inner?.properties ? fieldRows(inner, `${path}.`, named) : [])];
  });
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum)
    return schema.enum.length > 12 ? 'string' : schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`;
  if (schema.format === 'date-time') return 'timestamp';
  return String(schema.type ?? 'any');
}

function envelope(format: EventFormat, event: EventDefinition, data: object): object {
  const timestamp = '2026-03-01T02:01:25.500Z';
  if (format === 'simple') return { event: event.name, timestamp, data };
  const onFailure = event.name.endsWith('.failed') ? { maxAttempts: attemptsMax, willRetry: true } : {};
  const delivery = { attempt: 1, deliveryId: 'dlv_01JNF3QR2T4V6X8Z2B', ...onFailure };
  const metadata = { ...sampleMetadata(event.name), ...delivery };
  return { id: 'evt_01JNF3QS5V7X9Z2B4D', type: event.name, timestamp, data, metadata };
}

if (import.meta.main) writeFileSync(documentationPath, writeDocumentation());
