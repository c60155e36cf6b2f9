import type { ItemOf, Operations } from '@holdfast/contract';
import type { AuditRow } from './chain-hash.ts';

export type PresentedEntry = ItemOf<Operations['listAuditLogs']>;

export function presentAuditEntry(row: AuditRow): PresentedEntry {
  return {
    id: row.id,
    timestamp: row.timestamp.toISOString(),
    action: row.action,
    actor: { type: row.actorType as PresentedEntry['actor']['type'], id: row.actorId, email: row.actorEmail },
    resource: { type: row.resourceType, id: row.resourceId },
    organization: { id: row.organizationId },
    context: { ip: row.ip, userAgent: row.userAgent, location: row.location },
    details: row.details,
    requestId: row.requestId,
    previousHash: row.previousHash,
    hash: row.hash,
  };
}
