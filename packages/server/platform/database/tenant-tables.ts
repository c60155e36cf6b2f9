import pg from 'pg';

interface Reference {
  child: string;
  parent: string;
}

interface Queries {
  query<Row extends pg.QueryResultRow>(text: string): Promise<{ rows: Row[] }>;
}

/**
 * Every table whose rows belong to an organization, quoted, referencing tables first: deleting in this order breaks no
 * reference. Read from the catalogue, so that a later table cannot be forgotten.
 */
export async function tenantTables(client: Queries): Promise<string[]> {
  const tables = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.attname = 'organization_id' and not a.attisdropped order by c.relname`,
  );
  const references = await client.query<Reference>(
    `select child.relname as child, parent.relname as parent from pg_constraint f
       join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
      where f.contype = 'f' and child.oid <> parent.oid`,
  );
  return childrenFirst(
    tables.rows.map((row) => row.name),
    references.rows,
  ).map((name) => pg.escapeIdentifier(name));
}

/** Tables with circular references come in any order; their references must cascade or be deferred. */
function childrenFirst(tables: readonly string[], references: readonly Reference[]): string[] {
  const ordered: string[] = [];
  const seen = new Set<string>();
  const visit = (table: string) => {
    if (seen.has(table)) return;
    seen.add(table);
    for (const { child, parent } of references) if (parent === table && tables.includes(child)) visit(child);
    ordered.push(table);
  };
  for (const table of tables) visit(table);
  return ordered;
}
