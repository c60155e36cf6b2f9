import type { Transaction } from '../../../platform/database/database.ts';
import { encodeJson } from '../../../platform/database/json.ts';

/** A heartbeat older than this means that the holder is dead. */
const leaseSeconds = 15;

/** All SQL on who captures which log. Every transaction spans organizations. */
export const leaseStore = {
  /** Registers this process as capturing, and returns how many logs each process should have. */
  async shareOf({ client }: Transaction, holder: string): Promise<number> {
    await client.query(
      `insert into pitr_workers (holder, heartbeat_at) values ($1, now())
       on conflict (holder) do update set heartbeat_at = now()`,
      [holder],
    );
    await client.query(`delete from pitr_workers where heartbeat_at < now() - make_interval(secs => $1)`, [
      leaseSeconds,
    ]);
    const { rows } = await client.query<{ share: number }>(
      `select ceil((select count(*) from pitr_logs where enabled)::float8 / greatest(1, count(*)))::int as share
         from pitr_workers`,
    );
    return rows[0]!.share;
  },

  /** Claims logs that nobody captures: never held, released, or with a dead holder. Each gets a new epoch. */
  async claim(
    { client }: Transaction,
    holder: string,
    limit: number,
  ): Promise<{ organizationId: string; projectId: string; epoch: number }[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string; epoch: number }>(
      `update pitr_logs set holder = $1, epoch = epoch + 1, heartbeat_at = now()
        where project_id in (
          select l.project_id from pitr_logs l
           where l.enabled and (l.holder is null or l.heartbeat_at < now() - make_interval(secs => $3))
             and (l.retry_at is null or l.retry_at <= now())
           order by l.heartbeat_at nulls first limit $2 for update of l skip locked)
        returning organization_id, project_id, epoch`,
      [holder, limit, leaseSeconds],
    );
    return rows.map((row) => ({
      organizationId: row.organization_id,
      projectId: row.project_id,
      epoch: row.epoch,
    }));
  },

  /** Renews the leases of a holder. Leases missing in the result are lost. */
  async heartbeat({ client }: Transaction, holder: string): Promise<Map<string, { epoch: number; enabled: boolean }>> {
    const { rows } = await client.query<{ project_id: string; epoch: number; enabled: boolean }>(
      `update pitr_logs set heartbeat_at = now()
        where holder = $1 returning project_id, epoch, enabled`,
      [holder],
    );
    return new Map(rows.map(({ project_id, epoch, enabled }) => [project_id, { epoch, enabled }]));
  },

  async release({ client }: Transaction, holder: string, projectId: string, epoch: number): Promise<void> {
    await client.query('update pitr_logs set holder = null where holder = $1 and project_id = $2 and epoch = $3', [
      holder,
      projectId,
      epoch,
    ]);
  },

  async letGo(
    { client }: Transaction,
    holder: string,
    projectId: string,
    epoch: number,
    change: { error: object | null; failures: number; retryAfterSeconds: number },
  ): Promise<void> {
    await client.query(
      `update pitr_logs set holder = null, error = $4, failures = $5,
              retry_at = case when $6 > 0 then now() + make_interval(secs => $6) end, version = version + 1
        where holder = $1 and project_id = $2 and epoch = $3`,
      [
        holder,
        projectId,
        epoch,
        change.error === null ? null : encodeJson(change.error),
        change.failures,
        change.retryAfterSeconds,
      ],
    );
  },

  /** Lets the others take over without waiting for the heartbeat to time out. */
  async leave({ client }: Transaction, holder: string): Promise<void> {
    await client.query('delete from pitr_workers where holder = $1', [holder]);
  },
};
