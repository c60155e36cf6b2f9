import pg from 'pg';

/** Assumed only by the queue's own connections. */
export const queueRole = 'holdfast_queue';

/**
 * Who reaches the queue's tables. Its own connections can do everything. A tenant's transaction may add jobs of its
 * organization and see their ids; it can neither read nor change any job. The bare login reaches nothing.
 */
export async function queueGrants(client: pg.Client, login: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relnamespace = 'pgboss'::regnamespace and c.relkind in ('r', 'p')
        and (c.oid = 'pgboss.job'::regclass
             or exists (select 1 from pg_inherits i where i.inhrelid = c.oid and i.inhparent = 'pgboss.job'::regclass))`,
  );
  const ownJob = `data->>'organizationId' = nullif(current_setting('holdfast.organization_id', true), '')`;
  const policies = rows.flatMap(({ name }) => {
    const table = `pgboss.${pg.escapeIdentifier(name)}`;
    return [
      `alter table ${table} enable row level security`,
      `drop policy if exists queue on ${table}`,
      `create policy queue on ${table} to ${queueRole}, holdfast_system using (true) with check (true)`,
      `drop policy if exists tenant on ${table}`,
      `create policy tenant on ${table} to holdfast_tenant using (${ownJob}) with check (${ownJob})`,
      `grant insert, select (id, start_after) on ${table} to holdfast_tenant`,
    ];
  });
  const settings =
    'name, policy, expire_seconds, deletion_seconds, retention_seconds, retry_limit, retry_delay, retry_backoff, retry_delay_max, dead_letter, heartbeat_seconds';
  return [
    `revoke all on all tables in schema pgboss from holdfast_tenant, ${pg.escapeIdentifier(login)}`,
    `revoke all on all sequences in schema pgboss from holdfast_tenant, ${pg.escapeIdentifier(login)}`,
    `revoke all on all functions in schema pgboss from public, holdfast_tenant, ${pg.escapeIdentifier(login)}`,
    `revoke all on schema pgboss from ${pg.escapeIdentifier(login)}`,
    `grant usage on schema pgboss to holdfast_tenant, holdfast_system, ${queueRole}`,
    `grant select, insert, update, delete on all tables in schema pgboss to holdfast_system, ${queueRole}`,
    `grant usage on all sequences in schema pgboss to holdfast_system, ${queueRole}`,
    `grant execute on all functions in schema pgboss to holdfast_system, ${queueRole}`,
    'grant execute on function pgboss.job_now() to holdfast_tenant',
    `grant select (${settings}) on pgboss.queue to holdfast_tenant`,
    ...policies,
  ];
}
