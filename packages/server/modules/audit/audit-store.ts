import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, asc, desc, eq, gt, gte, lt, type SQL, sql } from '../../platform/database/orm.ts';
import { type AuditContent, type AuditRow, chainHashSql, chainStart, contentHash } from './chain-hash.ts';
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

/** One round trip: moves the chain's end under its row lock and inserts the row after it. */
const appendStatement = `
  with chain as (
    insert into audit_chains as chain (organization_id, position, previous_hash, hash)
    values ($1, 1, '${chainStart}', ${chainHashSql(`'${chainStart}'`, `'1'`, '$2::text')})
    on conflict (organization_id) do update set
      position = chain.position + 1,
      previous_hash = chain.hash,
      hash = ${chainHashSql('chain.hash', '(chain.position + 1)::text', '$2::text')}
    returning position, previous_hash, hash
  )
  insert into audit_logs (organization_id, id, timestamp, action, actor_type, actor_id, actor_email, resource_type,
    resource_id, ip, user_agent, location, request_id, details, position, previous_hash, hash)
  select $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::jsonb, position, previous_hash, hash from chain`;

/** Appends a row to its chain. */
export async function appendRow({ client }: Transaction, row: AuditContent): Promise<void> {
  await client.query({
    name: 'holdfast_audit_append',
    text: appendStatement,
    values: [
      row.organizationId,
      contentHash(row),
      row.id,
      row.timestamp,
      row.action,
      row.actorType,
      row.actorId,
      row.actorEmail,
      row.resourceType,
      row.resourceId,
      row.ip,
      row.userAgent,
      row.location,
      row.requestId,
      encodeJson(row.details),
    ],
  });
}

/** Where a page of the log ended. */
export type AuditPlace = Pick<AuditRow, 'position' | 'timestamp'>;

/**
 * Newest first, starting after a place. Between two times rows are ordered by their time, which is indexed; otherwise
 * by their position. The two orders differ at most by the difference of the processes' clocks.
 */
export function newestRows(
  { orm }: Transaction,
  organizationId: string,
  filters: AuditFilters,
  below: AuditPlace | undefined,
  limit: number,
): Promise<AuditRow[]> {
  const isByTime = filters.from !== undefined || filters.to !== undefined;
  return orm
    .select()
    .from(auditLogs)
    .where(
      and(
        eq(auditLogs.organizationId, organizationId),
        below && (isByTime ? isEarlierThan(below) : lt(auditLogs.position, below.position)),
        ...conditions(filters),
      ),
    )
    .orderBy(...(isByTime ? [desc(auditLogs.timestamp)] : []), desc(auditLogs.position))
    .limit(limit);
}

function isEarlierThan({ timestamp, position }: AuditPlace): SQL {
  return sql`(${auditLogs.timestamp}, ${auditLogs.position}) < (${timestamp.toISOString()}::timestamptz, ${position}::bigint)`;
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

/** Oldest first, starting above `abovePosition`. */
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
  /** A row outside the chain: after its end or before the cut. */
  strayId: string | null;
}

/** The end of the chain and rows outside it, in one snapshot. */
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

export async function keepCheckpoint({ orm }: Transaction, checkpoint: Checkpoint): Promise<void> {
  await orm
    .insert(auditCheckpoints)
    .values(checkpoint)
    .onConflictDoUpdate({ target: auditCheckpoints.organizationId, set: checkpoint });
}

/** Ordered by id, starting after `after`; needs a system transaction. */
export async function organizationsWithRows({ client }: Transaction, after: string, limit: number): Promise<string[]> {
  const { rows } = await client.query<{ organization_id: string }>(
    'select organization_id from audit_chains where organization_id > $1 order by organization_id limit $2',
    [after, limit],
  );
  return rows.map((row) => row.organization_id);
}

export interface RemovedRows {
  count: number;
  /** Of the last removed row. */
  position: number;
  hash: string;
}

/**
 * Only an unbroken run from the beginning may be removed, so it ends before the first row that is young enough to stay.
 */
export async function removeOldest(
  { client }: Transaction,
  organizationId: string,
  before: Date,
  limit: number,
): Promise<RemovedRows | undefined> {
  const { rows } = await client.query<RemovedRows>(
    `with first_kept as (
       select min(position) as position from audit_logs where organization_id = $1 and timestamp >= $2
     ), oldest as (
       select l.position from audit_logs l, first_kept f
        where l.organization_id = $1 and (f.position is null or l.position < f.position)
        order by l.position limit $3
     ), removed as (
       delete from audit_logs l using oldest o
        where l.organization_id = $1 and l.position = o.position returning l.position, l.hash
     )
     select count(*) over ()::int as count, position::float8 as position, hash from removed order by position desc limit 1`,
    [organizationId, before, limit],
  );
  return rows[0];
}
