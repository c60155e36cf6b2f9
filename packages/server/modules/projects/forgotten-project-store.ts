import type { Transaction } from '../../platform/database/database.ts';

/**
 * Removes projects that were disconnected before then and have no records left: whatever may still name one keeps it.
 * Two statements, because the second sees what was written while the first waited for its locks. Returns the last one
 * it looked at.
 */
export async function removeForgotten(
  { client }: Transaction,
  { before, after, limit }: { before: Date; after: string; limit: number },
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    'select id from projects where deleted_at < $1 and id > $2 order by id limit $3 for update skip locked',
    [before, after, limit],
  );
  const ids = rows.map(({ id }) => id);
  const ofProject = (table: string) =>
    `select from ${table} t where t.organization_id = p.organization_id and t.project_id = p.id`;
  const asTarget = (table: string) =>
    `select from ${table} t where t.organization_id = p.organization_id and t.target_project_id = p.id`;
  await client.query(
    `delete from projects p where p.id = any($1)
        and not exists (${ofProject('backups')}) and not exists (${ofProject('schedules')})
        and not exists (${ofProject('restores')}) and not exists (${asTarget('restores')})
        and not exists (${ofProject('drills')}) and not exists (${asTarget('drills')})
        and not exists (${ofProject('pitr_logs')})`,
    [ids],
  );
  return ids.at(-1);
}
