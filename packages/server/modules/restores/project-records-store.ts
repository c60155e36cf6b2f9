import type { Transaction } from '../../platform/database/database.ts';
import { and, eq, inArray, or, type PgColumn, type PgTable, type TableConfig } from '../../platform/database/orm.ts';

type Columns = Record<'id' | 'organizationId' | 'projectId' | 'targetProjectId' | 'status', PgColumn>;
type ProjectRecords = PgTable<TableConfig & { columns: Columns }> & Columns;

/** Statements on rows that belong to a project and may write into another one: restores and drills. */
export function projectRecords(table: ProjectRecords) {
  return {
    /** Open records of a project's backups, or into the project. */
    async openOf({ orm }: Transaction, organizationId: string, projectId: string): Promise<string[]> {
      const about = or(eq(table.projectId, projectId), eq(table.targetProjectId, projectId));
      const isOpen = inArray(table.status, ['pending', 'running']);
      const rows = await orm
        .select({ id: table.id })
        .from(table)
        .where(and(eq(table.organizationId, organizationId), about, isOpen));
      return rows.map(({ id }) => id as string);
    },

    /** Moves the records of a project's backups with it. What other projects restored into it stays with them. */
    async moveTo(
      { orm }: Transaction,
      { id, organizationId }: { id: string; organizationId: string },
      toOrganizationId: string,
    ): Promise<void> {
      await orm
        .update(table)
        .set({ organizationId: toOrganizationId })
        .where(and(eq(table.organizationId, organizationId), eq(table.projectId, id)));
    },
  };
}
