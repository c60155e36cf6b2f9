import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Logger } from '../log.ts';
import { installationSecretPurpose, openInstallationSecret } from '../secrets/installation-secret.ts';
import type { MasterKeyring } from '../secrets/master-keyring.ts';
import { StartFailure } from '../start-failure.ts';
import { hasLostRoles, restorePolicies } from './lost-policies.ts';
import { drizzle, migrate } from './orm.ts';
import { queueGrants, queueRole } from './queue-grants.ts';

/** Serializes concurrent starts on one database. */
const migrationLock = 0x48f0;
const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));
const oldestVersion = 140_000;
/** The roles that the login assumes: a tenant's work, work across tenants, and the queue's own work. */
const groupRoles = ['holdfast_tenant', 'holdfast_system', queueRole];
/** Used instead of a database's name for a fingerprint that is also valid for its copies; no database has this name. */
const everyCopy = '';
const loginSecret = 'database login';
const migrationLimits = { lock: '60s', statement: '30min' };

export interface MigrationOptions {
  /** Connection as the owner. */
  ownerUrl: string;
  /**
   * Seals the password of the login role that this function creates; without it nobody else can log in as that role.
   */
  keyring?: MasterKeyring;
  /** A login that the operator created. */
  appUrl?: string | undefined;
  log: Logger;
  /** Functions of the modules, replaced at every start. */
  functions: readonly string[];
  /** What else `afterTables` produces, as text. */
  fingerprint?: string;
  /** Runs on the same locked connection after the tables exist, for example for the queue's own schema. */
  afterTables?: (ownerUrl: string) => Promise<void>;
}

/** Migrates the database to the newest schema and returns the address for the service's login. */
export async function prepareDatabase(options: MigrationOptions): Promise<string> {
  const client = new pg.Client({ connectionString: options.ownerUrl, application_name: 'holdfast migration' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    // Set only now: processes that start together wait for each other without a limit. A migration itself must not wait
    // long for a lock, because everybody else would wait behind it.
    await client.query(
      `set lock_timeout = '${migrationLimits.lock}'; set statement_timeout = '${migrationLimits.statement}'`,
    );
    await requireVersion(client);
    const login = await knownLogin(client, options);
    const wanted = await fingerprintsOf(options, login);
    const found = await readFingerprints(client);
    const isMoved =
      found.structure !== undefined && (await hasLostRoles(client, await knownRoles(client, options, found)));
    if (found.whole === wanted.whole && !isMoved) return options.appUrl ?? (await loginUrl(client, options, login));
    await ensureGroupRoles(client);
    if (isMoved) {
      const policies = await restorePolicies(client, migrationsFolder);
      options.log.warn(
        { policies },
        'the database came from another server: roles, rights and policies were made anew',
      );
    }
    if (found.structure !== wanted.structure) await ensureStructure(client, options);
    if (options.keyring && !options.appUrl) await keepLogin(client, options.keyring, login);
    const appUrl = options.appUrl ?? (await ensureLoginRole(client, options, login));
    await grant(client, decodeURIComponent(new URL(appUrl).username));
    await writeFingerprints(client, wanted);
    return appUrl;
  } finally {
    await client.end();
  }
}

/** The part that a copy of the database also has: tables, functions, the queue. */
async function ensureStructure(client: pg.Client, options: MigrationOptions): Promise<void> {
  await migrate(drizzle(client), { migrationsFolder, migrationsSchema: 'holdfast_migrations' });
  for (const statement of options.functions) await client.query(statement);
  await options.afterTables?.(options.ownerUrl);
}

interface Fingerprints {
  readonly structure: string | undefined;
  readonly whole: string | undefined;
}

/**
 * A hash of everything that this start would do. When the last start did the same, there is nothing to do, and running
 * processes are not disturbed by grants and role changes.
 */
async function fingerprintsOf(options: MigrationOptions, password: string): Promise<Fingerprints> {
  const journal = await readFile(join(migrationsFolder, 'meta', '_journal.json'), 'utf8');
  const structure = hashOf([journal, ...options.functions, options.fingerprint ?? '']);
  const granting = [
    grant.toString(),
    grantsOf.toString(),
    JSON.stringify([systemRights, tenantRightsOf]),
    queueGrants.toString(),
  ];
  const login = [options.appUrl ?? '', password];
  return { structure, whole: hashOf([structure, ...granting, ...login]) };
}

function hashOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function readFingerprints(client: pg.Client): Promise<Fingerprints> {
  const { rows: found } = await client.query(
    "select to_regclass('holdfast_migrations.prepared') is not null as exists",
  );
  if (!found[0].exists) return { structure: undefined, whole: undefined };
  const { rows } = await client.query<{ own: boolean; fingerprint: string }>(
    `select database = current_database() as own, fingerprint from holdfast_migrations.prepared
      where database in (current_database(), $1)`,
    [everyCopy],
  );
  return {
    structure: rows.find(({ own }) => !own)?.fingerprint,
    whole: rows.find(({ own }) => own)?.fingerprint,
  };
}

/** The name of the database is part of the whole: a copy made from a template has no login yet. */
async function writeFingerprints(client: pg.Client, { structure, whole }: Fingerprints): Promise<void> {
  await client.query(
    'create table if not exists holdfast_migrations.prepared (database text not null, fingerprint text not null)',
  );
  await client.query('delete from holdfast_migrations.prepared');
  await client.query('insert into holdfast_migrations.prepared values (current_database(), $1), ($2, $3)', [
    whole,
    everyCopy,
    structure,
  ]);
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query('show server_version_num');
  if (Number(rows[0].server_version_num) < oldestVersion)
    throw new StartFailure('DATABASE_URL: Holdfast needs PostgreSQL 14 or newer.');
}

/** Roles belong to the whole server, so the start of another database may create them at the same moment. */
async function ensureGroupRoles(client: pg.Client): Promise<void> {
  for (const role of groupRoles) await ensureRole(client, role, 'nologin nobypassrls');
}

async function ensureRole(client: pg.Client, role: string, attributes: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rowCount) return;
  await client.query(`create role ${pg.escapeIdentifier(role)} ${attributes}`).catch((error: pg.DatabaseError) => {
    if (error.code === '42501') {
      throw new StartFailure(
        'The role in DATABASE_URL may not create roles. Grant it CREATEROLE, or create the roles as docs/operations.md says and set DATABASE_APP_URL.',
        { cause: error },
      );
    }
    if (error.code !== '42710' && error.code !== '23505') throw error;
  });
}

/** A login that owns nothing, inherits nothing and cannot bypass row-level security. */
async function ensureLoginRole(client: pg.Client, options: MigrationOptions, password: string): Promise<string> {
  const role = await loginRole(client);
  await ensureRole(client, role, 'login noinherit nobypassrls');
  await client.query(`alter role ${pg.escapeIdentifier(role)} login noinherit password ${pg.escapeLiteral(password)}`);
  await client.query(`grant ${groupRoles.join(', ')} to ${pg.escapeIdentifier(role)}`);
  return loginUrl(client, options, password);
}

/**
 * The login's password is the same for every process and every master key: a new one would lock out running processes.
 * A start that cannot open the installation's sealed values is refused here, before anything is changed.
 */
async function knownLogin(client: pg.Client, { keyring }: MigrationOptions): Promise<string> {
  if (!keyring) return randomBytes(32).toString('base64url');
  const { rows: tables } = await client.query(
    "select to_regclass('public.installation_secrets') is not null as exists",
  );
  const sealed = tables[0].exists
    ? await client.query<{ name: string; sealed: string }>('select name, sealed from installation_secrets')
    : { rows: [] };
  const opened = new Map(
    sealed.rows.map((row) => [row.name, openInstallationSecret(keyring, row.name, row.sealed).toString('utf8')]),
  );
  return opened.get(loginSecret) ?? keyring.derive(loginSecret).toString('base64url');
}

async function keepLogin(client: pg.Client, keyring: MasterKeyring, password: string): Promise<void> {
  await client.query(
    'insert into installation_secrets (name, sealed, created_at) values ($1, $2, now()) on conflict do nothing',
    [loginSecret, keyring.seal(password, installationSecretPurpose(loginSecret))],
  );
}

/** The roles that an earlier start of this database created on its server. A copy has no login yet. */
async function knownRoles(client: pg.Client, { appUrl }: MigrationOptions, { whole }: Fingerprints): Promise<string[]> {
  return appUrl || whole === undefined ? groupRoles : [...groupRoles, await loginRole(client)];
}

async function loginRole(client: pg.Client): Promise<string> {
  const { rows } = await client.query('select current_database() as name');
  return `holdfast_login_${rows[0].name}`.slice(0, 63);
}

async function loginUrl(client: pg.Client, options: MigrationOptions, password: string): Promise<string> {
  const url = new URL(options.ownerUrl);
  url.username = encodeURIComponent(await loginRole(client));
  url.password = encodeURIComponent(password);
  return url.href;
}

const systemRights = ['DELETE', 'INSERT', 'SELECT', 'UPDATE'];
/** Tables with restricted rights, because their rows are evidence; a tenant has all rights on the others. */
const tenantRightsOf: Record<string, string[]> = { audit_logs: ['INSERT', 'SELECT'], audit_checkpoints: ['SELECT'] };

interface TableRights {
  readonly name: string;
  readonly isOfTenants: boolean;
  readonly hasColumnRights: boolean;
  readonly system: string[];
  readonly tenant: string[];
}

/** Tenants use tables under row-level security only. They can add audit rows, but neither change nor remove them. */
async function grant(client: pg.Client, login: string): Promise<void> {
  const rightsOf = (role: string) =>
    `array(select privilege_type from aclexplode(c.relacl) where grantee = '${role}'::regrole order by 1)`;
  const { rows } = await client.query<TableRights>(
    `select c.relname as name, ${rightsOf('holdfast_system')} as system, ${rightsOf('holdfast_tenant')} as tenant,
            exists (select 1 from pg_policy p where p.polrelid = c.oid and 'holdfast_tenant'::regrole = any(p.polroles)) as "isOfTenants",
            exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attacl is not null) as "hasColumnRights"
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
  );
  const statements = rows.flatMap(grantsOf);
  statements.push(
    'grant usage on schema public to holdfast_tenant, holdfast_system',
    `grant usage on schema public to ${pg.escapeIdentifier(login)}`,
    `grant execute on all functions in schema public to ${pg.escapeIdentifier(login)}`,
    ...(await queueGrants(client, login)),
  );
  await client.query(statements.join(';\n'));
}

/** Only missing or superfluous rights: every grant writes to the catalogue, which all connections then read again. */
function grantsOf({ name, isOfTenants, hasColumnRights, system, tenant }: TableRights): string[] {
  const table = pg.escapeIdentifier(name);
  const tenantRights = isOfTenants ? (tenantRightsOf[name] ?? systemRights) : [];
  const isRightForTenant = !hasColumnRights && tenant.join() === tenantRights.join();
  return [
    ...(systemRights.every((right) => system.includes(right))
      ? []
      : [`grant ${systemRights.join(', ')} on ${table} to holdfast_system`]),
    ...(isRightForTenant ? [] : [`revoke all on ${table} from holdfast_tenant`]),
    ...(isRightForTenant || tenantRights.length === 0
      ? []
      : [`grant ${tenantRights.join(', ')} on ${table} to holdfast_tenant`]),
  ];
}
