import type { Handlers } from '../../http/call.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Cursors, pageOf } from '../../platform/cursor.ts';
import type { Database } from '../../platform/database/database.ts';
import { type AuditPlace, newestRows } from './audit-store.ts';
import type { CheckpointSignatures } from './checkpoint-signature.ts';
import { exportAuditLogs, exportContentTypes } from './export-audit-logs.ts';
import { presentAuditEntry } from './present-audit-entry.ts';
import { keptDaysOf } from './retention.ts';
import { verifyChain } from './verify-chain.ts';

export interface AuditRoutes {
  database: Database;
  cursors: Cursors;
  clock: Clock;
  signatures: CheckpointSignatures;
  daysOverride: number | undefined;
}

export function auditHandlers({ database, cursors, clock, signatures, daysOverride }: AuditRoutes): Handlers {
  return {
    listAuditLogs: async (call) => {
      const { limit, cursor, ...filters } = call.query;
      const organizationId = call.organization.id;
      const bound = { organizationId, ...filters };
      const below = cursors.read('audit-logs', bound, cursor);
      const rows = await database.tenant(organizationId, (transaction) =>
        newestRows(transaction, organizationId, filters, below === undefined ? undefined : readPlace(below), limit + 1),
      );
      const page = pageOf(rows, limit, (row) => cursors.write('audit-logs', bound, writePlace(row)));
      return { data: page.rows.map(presentAuditEntry), nextCursor: page.nextCursor };
    },
    exportAuditLogs: async (call) => {
      const { format, ...filters } = call.query;
      const organizationId = call.organization.id;
      const day = clock.now().toISOString().slice(0, 10);
      return {
        stream: exportAuditLogs(database, { organizationId, filters, format, signal: call.signal }),
        contentType: exportContentTypes[format],
        headers: { 'content-disposition': `attachment; filename="audit-log-${organizationId}-${day}.${format}"` },
      };
    },
    verifyAuditLogs: async (call) => ({
      data: {
        ...(await verifyChain(database, signatures, call.organization.id, call.signal)),
        keptDays: keptDaysOf(call.organization.plan, daysOverride),
      },
    }),
  };
}

/** A cursor of a list holds where the previous page ended. */
function writePlace({ position, timestamp }: AuditPlace): string {
  return `${position} ${timestamp.toISOString()}`;
}

function readPlace(text: string): AuditPlace {
  const [position, timestamp] = text.split(' ') as [string, string];
  return { position: Number(position), timestamp: new Date(timestamp) };
}
