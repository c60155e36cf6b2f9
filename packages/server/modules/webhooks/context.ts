import type { AuditAction } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Principal, RequestOrigin } from '../../platform/principal.ts';
import { type AuditEntry, type AuditLog, actorOf } from '../audit/index.ts';
import type { WebhookSecrets } from './requests/webhook-secrets.ts';

/** What the operations of this module use. */
export interface WebhooksContext {
  readonly platform: Platform;
  readonly audit: AuditLog;
  readonly secrets: WebhookSecrets;
  readonly projectsOf: ProjectsOf;
}

/** Which of the ids are projects of the organization. */
export type ProjectsOf = (
  transaction: Transaction,
  organizationId: string,
  projectIds: readonly string[],
) => Promise<string[]>;

/** On whose behalf an operation runs. */
export interface Caller {
  readonly organization: { readonly id: string; readonly name: string };
  readonly principal: Principal;
  readonly origin: RequestOrigin;
}

export function auditEntry(
  caller: Caller,
  action: AuditAction,
  webhookId: string,
  details: Record<string, unknown>,
): AuditEntry {
  return {
    organizationId: caller.organization.id,
    action,
    actor: actorOf(caller.principal),
    resource: { type: 'webhook', id: webhookId },
    origin: caller.origin,
    details,
  };
}
