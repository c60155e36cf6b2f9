import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import type { Logger } from '../log.ts';

/** Serialises the start of several processes on one database. */
const migrationLock = 0x48f0;
const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));
const oldestVersion = 140_000;

export interface MigrationOptions {
  /** Connection as the owner. */
  ownerUrl: string;
  /** Password of the login role that this function makes, unless `appUrl` names a login the operator made. */
  appPassword: string;
  appUrl?: string | undefined;
  log: Logger;
  /** Functions of the modules, replaced at every start. */
  functions: readonly string[];
  /** Work on the same locked connection after the tables stand, such as the queue's own schema. */
  afterTables?: (ownerUrl: string) => Promise<void>;
}

/** Brings the database to the newest schema and returns the address the service is to log in with. */
export async function prepareDatabase(options: MigrationOptions): Promise<string> {
  const client = new pg.Client({ connectionString: options.ownerUrl, application_name: 'holdfast migration' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await requireVersion(client);
    await ensureGroupRoles(client);
    await migrate(drizzle(client), { migrationsFolder, migrationsSchema: 'holdfast_migrations' });
    for (const statement of options.functions) await client.query(statement);
    await options.afterTables?.(options.ownerUrl);
    const appUrl = options.appUrl ?? (await ensureLoginRole(client, options));
    await grant(client, new URL(appUrl).username);
    return appUrl;
  } finally {
    await client.end();
  }
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query('show server_version_num');
  if (Number(rows[0].server_version_num) < oldestVersion) throw new Error('Holdfast needs PostgreSQL 14 or newer.');
}

/** Roles belong to the whole server, so another database's start may make them at the same moment. */
async function ensureGroupRoles(client: pg.Client): Promise<void> {
  for (const role of ['holdfast_tenant', 'holdfast_system']) await ensureRole(client, role, 'nologin nobypassrls');
}

async function ensureRole(client: pg.Client, role: string, attributes: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rowCount) return;
  await client.query(`create role ${pg.escapeIdentifier(role)} ${attributes}`).catch((error: pg.DatabaseError) => {
    if (error.code === '42501') {
      throw new Error(
        'The role in DATABASE_URL may not create roles. Grant it CREATEROLE, or create the roles as docs/operations.md says and set DATABASE_APP_URL.',
        { cause: error },
      );
    }
    if (error.code !== '42710' && error.code !== '23505') throw error;
  });
}

/** A login that owns nothing, inherits nothing and cannot bypass row-level security. */
async function ensureLoginRole(client: pg.Client, options: MigrationOptions): Promise<string> {
  const { rows } = await client.query('select current_database() as name');
  const role = `holdfast_login_${rows[0].name}`.slice(0, 63);
  await ensureRole(client, role, 'login noinherit nobypassrls');
  await client.query(
    `alter role ${pg.escapeIdentifier(role)} login noinherit password ${pg.escapeLiteral(options.appPassword)}`,
  );
  await client.query(`grant holdfast_tenant, holdfast_system to ${pg.escapeIdentifier(role)}`);
  const url = new URL(options.ownerUrl);
  url.username = role;
  url.password = options.appPassword;
  return url.href;
}

/** What a tenant may do with the tables whose rows prove something; with all others it may do everything. */
const tenantRightsOf: Readonly<Record<string, string>> = { audit_logs: 'select, insert', audit_checkpoints: 'select' };

/** Tenants reach tables under row-level security alone; audit rows can be added by them but neither changed nor removed. */
async function grant(client: pg.Client, login: string): Promise<void> {
  const { rows } = await client.query(
    `select c.relname as name, exists (select 1 from pg_policy p where p.polrelid = c.oid and 'holdfast_tenant'::regrole = any(p.polroles)) as tenant
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
  );
  const statements = rows.flatMap(({ name, tenant }: { name: string; tenant: boolean }) => {
    const table = pg.escapeIdentifier(name);
    const tenantRights = tenantRightsOf[name] ?? 'select, insert, update, delete';
    return [
      `grant select, insert, update, delete on ${table} to holdfast_system`,
      `revoke all on ${table} from holdfast_tenant`,
      ...(tenant ? [`grant ${tenantRights} on ${table} to holdfast_tenant`] : []),
    ];
  });
  const queueUsers = `holdfast_tenant, holdfast_system, ${pg.escapeIdentifier(login)}`;
  statements.push(
    'grant usage on schema public to holdfast_tenant, holdfast_system',
    `grant usage on schema public to ${pg.escapeIdentifier(login)}`,
    `grant usage on schema pgboss to ${queueUsers}`,
    `grant select, insert, update, delete on all tables in schema pgboss to ${queueUsers}`,
    `grant usage on all sequences in schema pgboss to ${queueUsers}`,
    `grant execute on all functions in schema pgboss to ${queueUsers}`,
    `grant execute on all functions in schema public to ${pg.escapeIdentifier(login)}`,
  );
  await client.query(statements.join(';\n'));
}
