import type { Transaction } from '../../platform/database/database.ts';
import type { ProjectRow } from '../projects/index.ts';

/** The history of a project's backups goes where they go. Restores of other projects into it stay with those projects. */
export async function moveRestores(
  { client }: Transaction,
  { id, organizationId }: ProjectRow,
  toOrganizationId: string,
): Promise<void> {
  for (const table of ['restores', 'drills'])
    await client.query(`update ${table} set organization_id = $3 where organization_id = $1 and project_id = $2`, [
      organizationId,
      id,
      toOrganizationId,
    ]);
}
