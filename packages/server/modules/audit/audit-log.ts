import type { AuditAction } from '@holdfast/contract';
import type { Clock } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/database/database.ts';
import type { Ids } from '../../platform/ids.ts';
import { oneLine } from '../../platform/one-line.ts';
import type { Caller, Principal, RequestOrigin } from '../../platform/principal.ts';
import { appendRow } from './audit-store.ts';
import type { AuditContent } from './chain-hash.ts';
import { storableDetails } from './storable.ts';

export interface AuditEntry {
  organizationId: string;
  /** `<resource>.<past verb>`, such as `backup.created`. */
  action: AuditAction;
  actor: AuditActor;
  resource: { type: string; id: string | null };
  origin: RequestOrigin | null;
  details?: Record<string, unknown>;
}

/** What happened to what, for the two short ways to write an entry. */
export interface AuditNote {
  action: AuditAction;
  resource: { type: string; id: string | null };
  details?: Record<string, unknown>;
}

export interface AuditActor {
  type: 'user' | 'service_account' | 'system' | 'anonymous';
  id: string | null;
  email: string | null;
}

export const systemActor: AuditActor = { type: 'system', id: null, email: null };

export function actorOf(principal: Principal): AuditActor {
  if (principal.kind === 'person') return { type: 'user', id: principal.userId, email: principal.email };
  if (principal.kind === 'key')
    return { type: 'service_account', id: principal.serviceAccountId, email: principal.email };
  return { type: 'anonymous', id: null, email: null };
}

/**
 * Writes audit rows in the transaction of the change. Each row's hash covers its content and the previous hash, so a
 * changed, removed or inserted row breaks the chain of its organization. Write last in a transaction: the chain's row
 * is locked until the commit. A transaction that writes for several organizations writes them ordered by id, so that
 * two of them never deadlock.
 */
export class AuditLog {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #locate: (ip: string | null) => string | null;

  constructor(clock: Clock, ids: Ids, locate: (ip: string | null) => string | null = () => null) {
    this.#clock = clock;
    this.#ids = ids;
    this.#locate = locate;
  }

  /** What a call did, in the caller's organization. */
  async noteCaller(transaction: Transaction, caller: Caller, note: AuditNote): Promise<void> {
    const { organization, principal, origin } = caller;
    await this.write(transaction, { organizationId: organization.id, actor: actorOf(principal), origin, ...note });
  }

  /** What the service did by itself. */
  async noteSystem(transaction: Transaction, organizationId: string, note: AuditNote): Promise<void> {
    await this.write(transaction, { organizationId, actor: systemActor, origin: null, ...note });
  }

  async write(transaction: Transaction, entry: AuditEntry): Promise<void> {
    await appendRow(transaction, this.#content(entry));
  }

  #content(entry: AuditEntry): AuditContent {
    const { actor, resource, origin } = entry;
    return {
      id: this.#ids.next('aud'),
      organizationId: entry.organizationId,
      timestamp: this.#clock.now(),
      action: entry.action,
      actorType: actor.type,
      actorId: actor.id,
      actorEmail: actor.email,
      resourceType: resource.type,
      resourceId: resource.id === null ? null : oneLine(resource.id, 256),
      ip: origin?.ip ?? null,
      userAgent: origin?.userAgent ? oneLine(origin.userAgent, 500) : null,
      location: this.#locate(origin?.ip ?? null),
      requestId: origin?.requestId ?? null,
      details: storableDetails(entry.details ?? {}),
    };
  }
}
