import { z } from 'zod';
import type { EventDefinition, EventFormat } from '../events.ts';
import { events, sampleMetadata, standardMetadata } from '../events.ts';
import { identifier, timestamp } from '../schemas/primitives.ts';
import type { SchemaCollection } from './schemas.ts';

const sampleTime = '2026-03-01T02:01:25.500Z';
const signature = { type: 'string', pattern: '^sha256=[0-9a-f]{64}$', maxLength: 71 };
const shortText = { type: 'string', pattern: '^[ -~]+$', maxLength: 500 };

const header = (name: string, required: boolean, description: string, schema: object) => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

const headersByFormat: Readonly<Record<EventFormat, object[]>> = {
  standard: [
    header(
      'X-Service-Signature',
      true,
      'HMAC-SHA256 with the secret over `<X-Service-Timestamp>.<raw body>`.',
      signature,
    ),
    header(
      'X-Service-Signature-Previous',
      false,
      'The same with the old secret, for 24 hours after a rotation. Secrets before it, during their own 24 hours, sign in further headers: this name followed by `-2`, `-3` and so on.',
      signature,
    ),
    header('X-Service-Timestamp', true, 'Unix seconds; refuse what is more than 300 seconds off.', {
      type: 'string',
      pattern: '^[0-9]+$',
      maxLength: 12,
    }),
    header('X-Service-Delivery-Id', true, 'The same on every attempt; use it to detect duplicates.', {
      type: 'string',
      pattern: '^dlv_[0-9A-Za-z]+$',
      maxLength: 64,
    }),
    header('webhook-id', true, 'As in Standard Webhooks.', shortText),
    header('webhook-timestamp', true, 'As in Standard Webhooks: Unix seconds.', {
      type: 'string',
      pattern: '^[0-9]+$',
      maxLength: 12,
    }),
    header('webhook-signature', true, 'As in Standard Webhooks: one or more `v1,<base64>`.', shortText),
  ],
  simple: [
    header('X-Webhook-Event', true, 'The name of the event.', shortText),
    header('X-Webhook-Timestamp', true, 'ISO 8601.', { type: 'string', format: 'date-time', maxLength: 40 }),
    header('X-Webhook-Id', true, 'The id of the webhook.', {
      type: 'string',
      pattern: '^whk_[0-9A-Za-z]+$',
      maxLength: 64,
    }),
    header('X-Webhook-Signature', false, 'HMAC-SHA256 with the secret over the body; only with a secret.', signature),
    header(
      'X-Webhook-Signature-Previous',
      false,
      'The same with the old secret, for 24 hours after a rotation. Secrets before it, during their own 24 hours, sign in further headers: this name followed by `-2`, `-3` and so on.',
      signature,
    ),
  ],
};

function bodySchema(event: EventDefinition, format: EventFormat, data: z.ZodType): z.ZodType {
  if (format === 'simple') return z.object({ event: z.literal(event.name), timestamp: timestamp(), data });
  return z.object({
    id: identifier('evt'),
    type: z.literal(event.name),
    timestamp: timestamp(),
    data,
    metadata: standardMetadata,
  });
}

function example(event: EventDefinition, format: EventFormat, sample: object): object {
  if (format === 'simple') return { event: event.name, timestamp: sampleTime, data: sample };
  const failure = event.name.endsWith('.failed') ? { maxAttempts: 5, willRetry: true } : {};
  const delivery = { attempt: 1, deliveryId: 'dlv_01JNF3QS4A6C8E2G4J', ...failure };
  const metadata = { ...sampleMetadata(event.name), ...delivery };
  return { id: 'evt_01JNF3QR1S3T5V7X9Z', type: event.name, timestamp: sampleTime, data: sample, metadata };
}

/** `backup.completed` → `BackupCompleted` */
const pascal = (name: string) => name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());

function describeEvent(
  event: EventDefinition,
  format: EventFormat,
  definition: { data: z.ZodType; sample: object },
  schemas: SchemaCollection,
) {
  const simple = format === 'simple';
  const name = `${pascal(event.name)}${simple ? 'Simple' : ''}Event`;
  const schema = schemas.add(name, {
    ...schemas.convert(bodySchema(event, format, definition.data), 'output'),
    description: event.description,
  });
  return {
    post: {
      operationId: `on${name}`,
      tags: ['Events'],
      summary: event.description.replace(/\.$/, ''),
      description: `${event.description} ${simple ? 'Simple format: sent once.' : 'Standard format: up to five attempts.'}`,
      security: [{}],
      parameters: headersByFormat[format],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema, examples: { sample: { value: example(event, format, definition.sample) } } },
        },
      },
      responses: {
        '2XX': { description: 'Accepted.' },
        '4XX': { description: 'Not accepted. 410 disables the webhook.' },
        '5XX': { description: 'Not accepted.' },
      },
    },
  };
}

/** What Holdfast sends, under the event's name; the simple format under `simple.<name>`. */
export function describeWebhooks(schemas: SchemaCollection): Record<string, object> {
  const entries = Object.values(events).flatMap((event) =>
    Object.entries(event.formats).map(([format, definition]) => [
      format === 'simple' ? `simple.${event.name}` : event.name,
      describeEvent(event, format as EventFormat, definition, schemas),
    ]),
  );
  return Object.fromEntries(entries) as Record<string, object>;
}
