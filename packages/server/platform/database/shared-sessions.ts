import pg from 'pg';
import { StartFailure } from '../start-failure.ts';
import { connectionLimits, searchPathOption } from './database.ts';

/** How PgBouncer refuses unknown settings. */
const unknownParameter = /unsupported startup parameter/;

/**
 * Locks, notifications and settings belong to a session. A pooler that shares the server's sessions between clients
 * would lose notifications, leave locks in other clients' sessions and give them our settings, all without an error. So
 * this is checked before anything is locked or migrated.
 */
export async function refuseSharedSessions(url: string): Promise<void> {
  const [first, second] = [connect(url), connect(url)];
  try {
    await first.connect();
    await second.connect();
    const path = String(await ask(first, 'show search_path')).replaceAll(' ', '');
    if (!searchPathOption.endsWith(`=${path}`)) throw pooled(url, 'drops the settings of a session');
    const before = await sessionOf(first);
    await second.query('begin');
    const between = await sessionOf(second);
    const after = await sessionOf(first);
    await second.query('rollback');
    if (before === between || before !== after) throw pooled(url, 'hands sessions from one client to the next');
  } catch (error) {
    if (error instanceof Error && unknownParameter.test(error.message))
      throw pooled(url, 'does not pass on the settings of a session');
    throw error;
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
}

function connect(url: string): pg.Client {
  const { connectionTimeoutMillis } = connectionLimits;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'holdfast start',
    options: searchPathOption,
    connectionTimeoutMillis,
  });
  // The failing query reports the error.
  client.on('error', () => undefined);
  return client;
}

async function ask(client: pg.Client, statement: string): Promise<unknown> {
  const { rows } = await client.query({ text: statement, rowMode: 'array' });
  return rows[0]?.[0];
}

const sessionOf = (client: pg.Client) => ask(client, 'select pg_backend_pid()');

function pooled(url: string, what: string): StartFailure {
  return new StartFailure(
    `The database at ${new URL(url).host} is behind a connection pooler that ${what}. Holdfast keeps a small pool of its own and needs sessions of its own: put the address of the PostgreSQL server itself into DATABASE_URL (and DATABASE_APP_URL).`,
  );
}
