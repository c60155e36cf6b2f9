import { createHash } from 'node:crypto';
import type { auditLogs } from './tables.ts';

export type AuditRow = typeof auditLogs.$inferSelect;
export type AuditContent = Omit<AuditRow, 'position' | 'previousHash' | 'hash'>;

/** The hash before the first row of a chain. */
export const chainStart = '0'.repeat(64);

/**
 * SHA-256 over the content of a row. Keys are in a fixed order, because the database does not keep the key order of an
 * object.
 */
export function contentHash(content: AuditContent): string {
  const ordered = {
    id: content.id,
    organizationId: content.organizationId,
    timestamp: content.timestamp.toISOString(),
    action: content.action,
    actorType: content.actorType,
    actorId: content.actorId,
    actorEmail: content.actorEmail,
    resourceType: content.resourceType,
    resourceId: content.resourceId,
    ip: content.ip,
    userAgent: content.userAgent,
    location: content.location,
    requestId: content.requestId,
    details: content.details,
  };
  return sha256(canonical(ordered));
}

/**
 * A row's hash: SHA-256 over `<previous hash>:<position>:<hash of its content>`. When a row is written, the database
 * computes this itself, so that the chain grows in one statement.
 */
export function hashRow(row: Omit<AuditRow, 'hash'>): string {
  return sha256(`${row.previousHash}:${row.position}:${contentHash(row)}`);
}

/** The same step in SQL; the arguments are SQL expressions of type text. */
export function chainHashSql(previousHash: string, position: string, content: string): string {
  return `encode(sha256(convert_to(${previousHash} || ':' || ${position} || ':' || ${content}, 'UTF8')), 'hex')`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
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
