import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';

/** A policy as in a migration: name, table, and the whole statement. */
const creation = /CREATE POLICY "([^"]+)" ON "([^"]+)" [^;]*;/g;

/**
 * Whether the database was moved to a server without our roles. A dump contains grants and policies but no roles, and a
 * restore of it skips what names a missing role.
 */
export async function hasLostRoles(client: pg.Client, roles: readonly string[]): Promise<boolean> {
  const { rows } = await client.query<{ lost: boolean }>(
    `select (select count(*) from pg_roles where rolname = any($1)) < $2
         or exists (select 1 from pg_class c where c.relnamespace = 'public'::regnamespace and c.relrowsecurity
                       and not exists (select 1 from pg_policy p where p.polrelid = c.oid)) as lost`,
    [roles, roles.length],
  );
  return rows[0]?.lost === true;
}

/** Creates every policy of the migrations that is missing. */
export async function restorePolicies(client: pg.Client, migrationsFolder: string): Promise<number> {
  const { rows } = await client.query<{ policy: string }>(
    `select c.relname || '/' || p.polname as policy from pg_policy p join pg_class c on c.oid = p.polrelid
      where c.relnamespace = 'public'::regnamespace`,
  );
  const there = new Set(rows.map(({ policy }) => policy));
  const lost = (await madePolicies(migrationsFolder)).filter(({ table, name }) => !there.has(`${table}/${name}`));
  for (const { statement } of lost) await client.query(statement);
  return lost.length;
}

async function madePolicies(folder: string): Promise<{ name: string; table: string; statement: string }[]> {
  const files = globSync('*.sql', { cwd: folder }).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(creation)].map(([statement, name = '', table = '']) => ({ name, table, statement })),
  );
}
