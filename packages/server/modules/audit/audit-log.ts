import { createHash } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Clock } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/database/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Principal, RequestOrigin } from '../../platform/principal.ts';
import { auditChains, auditLogs } from './tables.ts';

export interface AuditEntry {
  organizationId: string;
  /** `<resource>.<past verb>`, such as `backup.created`. */
  action: string;
  actor: AuditActor;
  resource: { type: string; id: string | null };
  origin: RequestOrigin | null;
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

export type AuditRow = typeof auditLogs.$inferSelect;

/** The hash before the first row of a chain. */
export const chainStart = '0'.repeat(64);

/**
 * Writes audit rows in the transaction of the change they tell of. Each row's hash covers its content and the hash
 * before it, so a changed, removed or inserted row breaks the chain of its organization.
 * Writes last in a transaction where it can: the chain's row lock is held until the commit.
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

  async write(transaction: Transaction, entry: AuditEntry): Promise<void> {
    const { orm } = transaction;
    const { organizationId } = entry;
    await orm.insert(auditChains).values({ organizationId, position: 0, hash: chainStart }).onConflictDoNothing();
    const [chain] = await orm
      .select()
      .from(auditChains)
      .where(eq(auditChains.organizationId, organizationId))
      .for('update');
    if (!chain) throw new Error('the audit chain of an organization could not be read');
    const row = this.#row(entry, chain.position + 1, chain.hash);
    await orm.insert(auditLogs).values(row);
    await orm
      .update(auditChains)
      .set({ position: row.position, hash: row.hash })
      .where(eq(auditChains.organizationId, organizationId));
  }

  #row(entry: AuditEntry, position: number, previousHash: string): AuditRow {
    const content = {
      id: this.#ids.next('aud'),
      organizationId: entry.organizationId,
      position,
      timestamp: this.#clock.now(),
      action: entry.action,
      actorType: entry.actor.type,
      actorId: entry.actor.id,
      actorEmail: entry.actor.email,
      resourceType: entry.resource.type,
      resourceId: entry.resource.id,
      ip: entry.origin?.ip ?? null,
      userAgent: entry.origin?.userAgent ?? null,
      location: this.#locate(entry.origin?.ip ?? null),
      requestId: entry.origin?.requestId ?? null,
      details: entry.details ?? {},
      previousHash,
    };
    return { ...content, hash: hashRow(content) };
  }
}

/** Keys in a fixed order, because the database does not keep the order of the keys of an object. */
export function hashRow(row: Omit<AuditRow, 'hash'>): string {
  const { timestamp, details, ...rest } = row;
  return createHash('sha256')
    .update(canonical({ ...rest, hash: undefined, timestamp: timestamp.toISOString(), details }))
    .digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
    .join(',')}}`;
}
