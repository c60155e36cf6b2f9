import type { Transaction } from '../../platform/database/database.ts';
import type { Role } from './tables.ts';

/**
 * The organizations of one person that are not deleted, in the order of their ids. Crosses tenants for one person
 * alone, so it wants the system's transaction. With `hold` none of them can be purged before the transaction ends.
 */
export async function membershipsOf(
  { client }: Transaction,
  userId: string,
  options: { hold: boolean },
): Promise<{ id: string; name: string; role: Role }[]> {
  const { rows } = await client.query(
    `select o.id, o.name, m.role from memberships m join organizations o on o.id = m.organization_id
      where m.user_id = $1 and o.deleted_at is null order by o.id ${options.hold ? 'for key share of o' : ''}`,
    [userId],
  );
  return rows;
}
