import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, isNull, sql } from '../../../platform/database/orm.ts';
import { rowsWhere } from '../../../platform/database/statement.ts';
import { organizationKeys } from '../tables.ts';

export type KeyRow = typeof organizationKeys.$inferSelect;
export type Derivation = NonNullable<KeyRow['derivation']>;

const allKeys = rowsWhere(organizationKeys, eq(organizationKeys.organizationId, sql.placeholder('organizationId')), {
  orderBy: desc(organizationKeys.version),
});

/** Statements on the keys of organizations. */

export async function insertKey({ orm }: Transaction, row: KeyRow): Promise<KeyRow> {
  await orm.insert(organizationKeys).values(row);
  return row;
}

export async function findCurrentKey({ orm }: Transaction, organizationId: string): Promise<KeyRow | undefined> {
  const [row] = await orm
    .select()
    .from(organizationKeys)
    .where(and(eq(organizationKeys.organizationId, organizationId), isNull(organizationKeys.retiredAt)));
  return row;
}

/** All keys, the latest change first. */
export async function listKeys({ client }: Transaction, organizationId: string): Promise<KeyRow[]> {
  return client.read(allKeys, { organizationId });
}

/** Keys that the customer withdrew: what they sealed is unreadable until they are supplied again. */
export async function withdrawnKeys({ orm }: Transaction, organizationId: string): Promise<string[]> {
  const rows = await orm
    .select({ id: organizationKeys.id })
    .from(organizationKeys)
    .where(and(eq(organizationKeys.organizationId, organizationId), isNull(organizationKeys.sealed)));
  return rows.map(({ id }) => id);
}

/** The same for a query of another module; `organization` is the SQL of its organization id. */
export function withdrawnKeysSql(organizationId: string): string {
  return `(select id from organization_keys where organization_id = ${organizationId} and sealed is null)`;
}

export async function findKey(
  { orm }: Transaction,
  organizationId: string,
  keyId: string,
): Promise<KeyRow | undefined> {
  const [row] = await orm
    .select()
    .from(organizationKeys)
    .where(and(eq(organizationKeys.organizationId, organizationId), eq(organizationKeys.id, keyId)));
  return row;
}

export async function changeKey(
  { orm }: Transaction,
  organizationId: string,
  keyId: string,
  change: Partial<KeyRow>,
): Promise<void> {
  await orm
    .update(organizationKeys)
    .set(change)
    .where(and(eq(organizationKeys.organizationId, organizationId), eq(organizationKeys.id, keyId)));
}
