import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';

const secretPurpose = (webhookId: string) => `webhook secret ${webhookId}`;

export const webhookSealedColumns: readonly SealedColumn[] = [
  { table: 'webhooks', column: 'sealed_secret', identifiedBy: 'id', purpose: secretPurpose },
  { table: 'webhooks', column: 'sealed_previous_secret', identifiedBy: 'id', purpose: secretPurpose },
  { table: 'webhooks', column: 'sealed_older_secrets', identifiedBy: 'id', purpose: secretPurpose },
  { table: 'webhooks', column: 'sealed_headers', identifiedBy: 'id', purpose: (id) => `webhook headers ${id}` },
  {
    table: 'webhook_attempts',
    column: 'sealed_headers',
    identifiedBy: 'delivery_id',
    purpose: (deliveryId) => `webhook request ${deliveryId}`,
  },
];
