import { and, asc, desc, eq, gt, gte, lt, type SQL } from 'drizzle-orm';
import type { Transaction } from '../../platform/database/database.ts';
import type { AuditRow } from './chain-hash.ts';
import { auditCheckpoints, auditLogs } from './tables.ts';

export interface AuditFilters {
  from?: string | undefined;
  to?: string | undefined;
  action?: string | undefined;
  actorId?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
}

export type Checkpoint = typeof auditCheckpoints.$inferSelect;

/** Newest first, from below `belowPosition` on. */
export function newestRows(
  { orm }: Transaction,
  organizationId: string,
  filters: AuditFilters,
  belowPosition: number | undefined,
  limit: number,
): Promise<AuditRow[]> {
  return orm
    .select()
    .from(auditLogs)
    .where(
      and(
        eq(auditLogs.organizationId, organizationId),
        belowPosition === undefined ? undefined : lt(auditLogs.position, belowPosition),
        ...conditions(filters),
      ),
    )
    .orderBy(desc(auditLogs.position))
    .limit(limit);
}

function conditions(filters: AuditFilters): (SQL | undefined)[] {
  return [
    filters.from === undefined ? undefined : gte(auditLogs.timestamp, new Date(filters.from)),
    filters.to === undefined ? undefined : lt(auditLogs.timestamp, new Date(filters.to)),
    filters.action === undefined ? undefined : eq(auditLogs.action, filters.action),
    filters.actorId === undefined ? undefined : eq(auditLogs.actorId, filters.actorId),
    filters.resourceType === undefined ? undefined : eq(auditLogs.resourceType, filters.resourceType),
    filters.resourceId === undefined ? undefined : eq(auditLogs.resourceId, filters.resourceId),
  ];
}

/** Oldest first, from above `abovePosition` on. */
export function oldestRows(
  { orm }: Transaction,
  organizationId: string,
  abovePosition: number,
  limit: number,
): Promise<AuditRow[]> {
  return orm
    .select()
    .from(auditLogs)
    .where(and(eq(auditLogs.organizationId, organizationId), gt(auditLogs.position, abovePosition)))
    .orderBy(asc(auditLogs.position))
    .limit(limit);
}

export interface ChainEnds {
  /** Null before the first row of an organization. */
  position: number | null;
  hash: string | null;
  /** A row outside of what the ends allow: behind the end, or before the cut. */
  strayId: string | null;
}

/** The end of the chain and rows that lie beyond it, as of one snapshot. */
export async function chainEnds({ client }: Transaction, organizationId: string, cut: number): Promise<ChainEnds> {
  const { rows } = await client.query(
    `select c.position::float8 as position, c.hash,
            (select l.id from audit_logs l where l.organization_id = $1
                and (l.position <= $2 or l.position > coalesce(c.position, 0)) order by l.position limit 1) as stray_id
       from (select 1) as one left join audit_chains c on c.organization_id = $1`,
    [organizationId, cut],
  );
  const [row] = rows;
  return { position: row.position, hash: row.hash, strayId: row.stray_id };
}

export async function checkpointOf({ orm }: Transaction, organizationId: string): Promise<Checkpoint | undefined> {
  const [found] = await orm.select().from(auditCheckpoints).where(eq(auditCheckpoints.organizationId, organizationId));
  return found;
}
