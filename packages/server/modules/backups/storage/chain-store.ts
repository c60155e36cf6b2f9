import type { Transaction } from '../../../platform/database/database.ts';

/** A backup that builds on another one. */
interface Dependent {
  readonly id: string;
  /** It is marked for removal. */
  readonly isDeleted: boolean;
  /** Its removal is undone if the backup that replaces it does not read well. */
  readonly mayComeBack: boolean;
}

export const chainStore = {
  /** Everything that builds on a backup, at any depth. */
  async dependents({ client }: Transaction, organizationId: string, id: string): Promise<Dependent[]> {
    const { rows } = await client.query<Dependent>(
      `with recursive above as (
         select id from backups where organization_id = $1 and parent_id = $2 and status in ('pending', 'running', 'completed')
         union select b.id from backups b join above on b.parent_id = above.id
                where b.organization_id = $1 and b.status in ('pending', 'running', 'completed')
       )
       select b.id, b.deleted_at is not null as "isDeleted", b.replaced_by is not null as "mayComeBack"
         from backups b join above on b.id = above.id where b.organization_id = $1`,
      [organizationId, id],
    );
    return rows;
  },

  /**
   * Backups of a project that are marked for removal, but are removed only if the backup that replaces them reads well.
   */
  async waitingForReplacement({ client }: Transaction, organizationId: string, projectId: string): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select id from backups where organization_id = $1 and project_id = $2 and deleted_at is not null
          and replaced_by is not null order by id limit 100`,
      [organizationId, projectId],
    );
    return rows.map(({ id }) => id);
  },

  /** Undoes the removal of a backup and of everything it builds on. */
  async bringBack({ client }: Transaction, organizationId: string, id: string): Promise<void> {
    await client.query(
      `with recursive chain as (
         select id, parent_id from backups where organization_id = $1 and id = $2
         union select b.id, b.parent_id from backups b join chain on b.id = chain.parent_id where b.organization_id = $1
       )
       update backups b set deleted_at = null, replaced_by = null from chain
        where b.organization_id = $1 and b.id = chain.id and b.deleted_at is not null`,
      [organizationId, id],
    );
  },
};
