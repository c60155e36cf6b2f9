import { member } from '../access.ts';
import { api, list, ok, operation } from '../operation.ts';
import { auditEntry, auditVerification, exportAuditLogsQuery, listAuditLogsQuery } from '../schemas/audit.ts';

const tag = 'Audit log';
const access = member('admin', 'organization:read');

export const listAuditLogs = operation({
  id: 'listAuditLogs',
  method: 'GET',
  path: api('/audit-logs'),
  tag,
  summary: 'List audit log entries',
  description: 'Every change, every sign-in and every denied call, newest first.',
  access,
  query: listAuditLogsQuery,
  success: list(auditEntry),
  errors: [],
});

export const exportAuditLogs = operation({
  id: 'exportAuditLogs',
  method: 'GET',
  path: api('/audit-logs/export'),
  tag,
  summary: 'Export the audit log',
  description: 'Streams the file. CSV cells that a spreadsheet would run as formulas are made harmless.',
  access,
  query: exportAuditLogsQuery,
  success: {
    kind: 'stream',
    status: 200,
    contentTypes: ['text/csv', 'application/json', 'application/x-ndjson'],
    schema: auditEntry,
  },
  errors: [],
});

export const verifyAuditLogs = operation({
  id: 'verifyAuditLogs',
  method: 'GET',
  path: api('/audit-logs/verify'),
  tag,
  summary: 'Verify the audit log',
  description: "Checks the organization's hash chain from beginning to end.",
  access,
  success: ok(auditVerification),
  errors: [],
});
