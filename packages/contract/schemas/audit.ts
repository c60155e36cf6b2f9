import { z } from 'zod';
import {
  count,
  email,
  identifier,
  pageQuery,
  rangeEnd,
  rangeStart,
  reference,
  sha256,
  text,
  timestamp,
} from './primitives.ts';

const action = z
  .string()
  .max(100)
  .regex(/^[a-z_]+\.[a-z_]+$/, { error: 'must be an action such as backup.created' });

export const auditEntry = z
  .object({
    id: identifier('aud'),
    timestamp: timestamp(),
    action: action.describe('`<resource>.<past verb>`, such as `backup.created`.'),
    actor: z.object({
      type: z.enum(['user', 'service_account', 'system', 'anonymous']),
      id: identifier().nullable(),
      email: email().nullable(),
    }),
    resource: z.object({ type: text({ max: 50 }), id: text({ max: 256 }).nullable() }),
    organization: z.object({ id: identifier('org') }),
    context: z.object({
      ip: text({ max: 64 }).nullable(),
      userAgent: text({ max: 1000 }).nullable(),
      location: text({ max: 200 }).nullable().describe('From a GeoIP file, when the operator gives one.'),
    }),
    details: z.record(z.string(), z.unknown()).describe('What changed.'),
    requestId: text({ max: 200 }).nullable(),
    previousHash: sha256().describe('The hash of the entry before it; zeros for the first.'),
    hash: sha256().describe('Covers this entry and the hash of the one before it.'),
  })
  .meta({ id: 'AuditEntry', description: 'One line of the audit log.' });

export const auditVerification = z
  .object({
    valid: z.boolean(),
    entries: count().describe('Entries that were checked.'),
    from: timestamp().nullable(),
    to: timestamp().nullable(),
    keptDays: count().describe('After this many days an entry may be removed from the beginning of the log.'),
    brokenAt: identifier('aud').nullable().describe('The first entry that does not fit the chain.'),
  })
  .meta({ id: 'AuditVerification', description: 'Whether the audit log is whole and unchanged.' });

const filters = {
  from: rangeStart().optional().describe('At this time or later; a plain date begins at midnight UTC.'),
  to: rangeEnd().optional().describe('Before this time; a plain date includes its whole day.'),
  action: text({ min: 1, max: 100 }).optional(),
  actorId: reference().optional(),
  resourceType: text({ min: 1, max: 50 }).optional(),
  resourceId: reference().optional(),
};

export const listAuditLogsQuery = pageQuery.extend(filters);
export const auditExportFormats = ['csv', 'json', 'ndjson'] as const;
export const exportAuditLogsQuery = z.object({ ...filters, format: z.enum(auditExportFormats).default('csv') });
