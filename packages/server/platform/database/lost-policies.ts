import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';

/** A policy as a migration makes it: name, table, and the whole statement. */
const creation = /CREATE POLICY "([^"]+)" ON "([^"]+)" [^;]*;/g;

/**
 * Whether the database came from a server that had our roles to one that has not: a dump holds grants and policies, but no
 * roles, and what names a role that is missing is left out when it is read in.
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

/** Makes every policy again that the migrations made and that is no longer there. */
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
