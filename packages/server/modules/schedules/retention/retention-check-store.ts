import type { Transaction } from '../../../platform/database/database.ts';

export interface RetentionCheck {
  organizationId: string;
  projectId: string;
}

/** All SQL on the times at which retention checks a project. */
export const retentionCheckStore = {
  /** Requests a check at this time, or earlier if an earlier one was requested. */
  async request({ client }: Transaction, organizationId: string, projectId: string, at: Date): Promise<void> {
    await client.query(
      `insert into retention_checks as c (organization_id, project_id, due_at) values ($1, $2, $3)
       on conflict (project_id) do update set due_at = least(c.due_at, excluded.due_at),
         organization_id = excluded.organization_id`,
      [organizationId, projectId, at],
    );
  },

  /**
   * The oldest check of each organization, then the next: many projects whose storage does not answer do not come
   * before those of others.
   */
  async listDue({ client }: Transaction, now: Date, limit: number): Promise<RetentionCheck[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string }>(
      `select organization_id, project_id from retention_checks where due_at <= $1
        order by row_number() over (partition by organization_id order by due_at), due_at limit $2`,
      [now, limit],
    );
    return rows.map((row) => ({ organizationId: row.organization_id, projectId: row.project_id }));
  },

  /** The version of the due check of a project; undefined when another process has handled it. */
  async findDue(
    { client }: Transaction,
    { organizationId, projectId }: RetentionCheck,
    now: Date,
  ): Promise<string | undefined> {
    const { rows } = await client.query<{ version: string }>(
      `select xmin::text as version from retention_checks where organization_id = $1 and project_id = $2 and due_at <= $3`,
      [organizationId, projectId, now],
    );
    return rows[0]?.version;
  },

  /** Locks the check; false when another process has it, or another check was requested since. */
  async lock({ client }: Transaction, { projectId }: RetentionCheck, version: string): Promise<boolean> {
    const { rowCount } = await client.query(
      'select 1 from retention_checks where project_id = $1 and xmin::text = $2 for update skip locked',
      [projectId, version],
    );
    return rowCount === 1;
  },

  async postpone({ client }: Transaction, organizationId: string, projectId: string, until: Date): Promise<void> {
    await client.query('update retention_checks set due_at = $3 where organization_id = $1 and project_id = $2', [
      organizationId,
      projectId,
      until,
    ]);
  },

  async move({ client }: Transaction, projectId: string, toOrganizationId: string): Promise<void> {
    await client.query('update retention_checks set organization_id = $2 where project_id = $1', [
      projectId,
      toOrganizationId,
    ]);
  },
};
