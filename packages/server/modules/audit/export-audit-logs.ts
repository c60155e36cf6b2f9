import { Readable } from 'node:stream';
import type { Database } from '../../platform/database/database.ts';
import { type AuditFilters, type AuditPlace, newestRows } from './audit-store.ts';
import type { AuditRow } from './chain-hash.ts';
import { csvLine } from './csv.ts';
import { presentAuditEntry } from './present-audit-entry.ts';

export type ExportFormat = 'csv' | 'json' | 'ndjson';

export const exportContentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

const rowsPerPage = 500;

export interface ExportRequest {
  organizationId: string;
  filters: AuditFilters;
  format: ExportFormat;
  signal: AbortSignal;
}

/**
 * The whole log as a file, newest first, with one page in memory at a time. Each page is a separate transaction, so
 * that a slow reader holds no connection. Rows written meanwhile come before the first page and are not included.
 */
export function exportAuditLogs(database: Database, request: ExportRequest): Readable {
  return Readable.from(writePages(database, request), { objectMode: false, highWaterMark: 64 * 1024 });
}

async function* writePages(database: Database, request: ExportRequest): AsyncGenerator<string> {
  const writer = writers[request.format];
  yield writer.head;
  let isFirst = true;
  for await (const rows of pages(database, request)) {
    yield rows.map((row, index) => writer.row(row, isFirst && index === 0)).join('');
    isFirst = false;
  }
  yield writer.tail;
}

async function* pages(database: Database, request: ExportRequest): AsyncGenerator<AuditRow[]> {
  const { organizationId, filters, signal } = request;
  let below: AuditPlace | undefined;
  do {
    signal.throwIfAborted();
    const place = below;
    const rows = await database.tenant(organizationId, (transaction) =>
      newestRows(transaction, organizationId, filters, place, rowsPerPage),
    );
    if (rows.length > 0) yield rows;
    below = rows.length === rowsPerPage ? rows.at(-1) : undefined;
  } while (below !== undefined);
}

interface Writer {
  head: string;
  row(row: AuditRow, isFirst: boolean): string;
  tail: string;
}

const columns: readonly [name: string, read: (row: AuditRow) => string | null][] = [
  ['id', (row) => row.id],
  ['timestamp', (row) => row.timestamp.toISOString()],
  ['action', (row) => row.action],
  ['actorType', (row) => row.actorType],
  ['actorId', (row) => row.actorId],
  ['actorEmail', (row) => row.actorEmail],
  ['resourceType', (row) => row.resourceType],
  ['resourceId', (row) => row.resourceId],
  ['organizationId', (row) => row.organizationId],
  ['ip', (row) => row.ip],
  ['userAgent', (row) => row.userAgent],
  ['location', (row) => row.location],
  ['requestId', (row) => row.requestId],
  ['details', (row) => JSON.stringify(row.details)],
  ['hash', (row) => row.hash],
];

const writers: Readonly<Record<ExportFormat, Writer>> = {
  csv: {
    head: csvLine(columns.map(([name]) => name)),
    row: (row) => csvLine(columns.map(([, read]) => read(row))),
    tail: '',
  },
  json: {
    head: '[',
    row: (row, isFirst) => `${isFirst ? '\n' : ',\n'}${JSON.stringify(presentAuditEntry(row))}`,
    tail: '\n]\n',
  },
  ndjson: { head: '', row: (row) => `${JSON.stringify(presentAuditEntry(row))}\n`, tail: '' },
};
