import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { secondMs } from '../durations.ts';
import { connectionLimits, serviceName } from './database.ts';

/** A process that has just ended may be visible for a moment. */
const leavesMs = 5 * secondMs;
const recheckMs = 200;

/** Whether the service has ever created its tables in this database. Creates nothing. */
export function wasPrepared(url: string): Promise<boolean> {
  return asCommand(url, async (client) => {
    const { rows } = await client.query("select to_regclass('holdfast_migrations.prepared') is not null as found");
    return rows[0].found;
  });
}

/** Whether processes of the service use this database. */
export function isServed(url: string): Promise<boolean> {
  return asCommand(url, async (client) => {
    for (const endsMs = performance.now() + leavesMs; ; await sleep(recheckMs)) {
      const { rowCount } = await client.query(
        'select 1 from pg_stat_activity where datname = current_database() and application_name in ($1, $2) limit 1',
        [serviceName, `${serviceName} queue`],
      );
      if (rowCount === 0) return false;
      if (performance.now() > endsMs) return true;
    }
  });
}

async function asCommand<Result>(url: string, ask: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const { connectionTimeoutMillis } = connectionLimits;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'holdfast command',
    connectionTimeoutMillis,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await ask(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
