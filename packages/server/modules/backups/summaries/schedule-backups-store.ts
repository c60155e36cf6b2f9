import type { Transaction } from '../../../platform/database/database.ts';
import type { BackupRow } from '../backup-store.ts';

/** What the backups of schedules say about their next run. */
export const scheduleBackupsStore = {
  /**
   * Which of the schedules have a waiting or running backup; the transaction may span organizations. What retention
   * merges is no run of theirs.
   */
  async busy({ client }: Transaction, scheduleIds: readonly string[]): Promise<Set<string>> {
    const { rows } = await client.query<{ schedule_id: string }>(
      `select distinct schedule_id from backups
        where schedule_id = any($1) and status in ('pending', 'running') and deleted_at is null and stands_for is null`,
      [[...scheduleIds]],
    );
    return new Set(rows.map((row) => row.schedule_id));
  },

  /** Whether another backup of the project is running, for whose end this one waits. */
  async waitsForAnother(
    { client }: Transaction,
    { organizationId, projectId, id }: Pick<BackupRow, 'organizationId' | 'projectId' | 'id'>,
  ): Promise<boolean> {
    const { rowCount } = await client.query(
      `select 1 from backups where organization_id = $1 and project_id = $2 and id <> $3 and deleted_at is null
          and status = 'running' limit 1`,
      [organizationId, projectId, id],
    );
    return rowCount === 1;
  },

  /**
   * Which schedules must take a full backup now, because their last one failed or was cancelled. After two failures in
   * a row an increment gets its turn: a full backup that fails must not keep increments from running. A full backup made
   * of captured changes is one too; what retention merges is none.
   */
  async owingFull(
    { client }: Transaction,
    schedules: readonly { organizationId: string; id: string }[],
  ): Promise<Set<string>> {
    const { rows } = await client.query<{ id: string }>(
      `select s.id from unnest($1::text[], $2::text[]) as s(organization_id, id)
        where (select b.status in ('failed', 'cancelled') from backups b
                where b.organization_id = s.organization_id and b.schedule_id = s.id
                  and b.type in ('full', 'synthetic') and b.stands_for is null
                order by b.id desc limit 1)
          and (select count(*) < 2 or not bool_and(l.type = 'full' and l.status in ('failed', 'cancelled'))
                 from (select b.type, b.status from backups b
                        where b.organization_id = s.organization_id and b.schedule_id = s.id and b.stands_for is null
                        order by b.id desc limit 2) l)`,
      [schedules.map(({ organizationId }) => organizationId), schedules.map(({ id }) => id)],
    );
    return new Set(rows.map((row) => row.id));
  },
};
