import pg from 'pg';
import { connectionLimits } from './database.ts';

/** Whether a start of the service has made its tables in this database. Nothing is made here. */
export async function wasPrepared(url: string): Promise<boolean> {
  const { connectionTimeoutMillis } = connectionLimits;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'holdfast command',
    connectionTimeoutMillis,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query("select to_regclass('holdfast_migrations.prepared') is not null as found");
    return rows[0].found;
  } finally {
    await client.end().catch(() => undefined);
  }
}
