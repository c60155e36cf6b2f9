import type { DataOf, Operations } from '@holdfast/contract';

export type WebhookDetail = DataOf<Operations['getWebhook']>;
