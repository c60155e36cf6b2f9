import pg from 'pg';
import { createWorld, pause } from './world.ts';

const outageMs = 20_000;

/** The database refuses every connection for twenty seconds in the middle of a backup; afterwards the backup ends well. */
export async function chaosOutage(options: { documents: number }): Promise<boolean> {
  const world = await createWorld({ documents: options.documents, workers: 2 });
  try {
    world.firestore.control.addFault({ method: 'RunQuery', batchLatencyMs: 2 });
    const { client, projectId } = world;
    const started = await client.createBackup({ body: { projectId } });
    await pause(1500);
    await cutOff(world.databaseUrl, outageMs);
    console.log(`the database is back after ${outageMs / 1000} s`);
    for (;;) {
      const backup = await client.getBackup({ params: { backupId: started.id } });
      if (backup.status === 'pending' || backup.status === 'running') {
        await pause(500);
        continue;
      }
      console.log(
        JSON.stringify({
          name: 'chaos outage',
          status: backup.status,
          documents: backup.documentCount,
          error: backup.error?.code ?? null,
          duration: backup.duration,
        }),
      );
      return backup.status === 'completed' && backup.documentCount === options.documents;
    }
  } finally {
    await world.close();
  }
}

/** Ends every session of the database and keeps ending them, so that nobody gets anything done. */
async function cutOff(url: string, milliseconds: number): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  const name = new URL(url).pathname.slice(1);
  try {
    await client.query(`alter database ${name} with allow_connections false`);
    const untilMs = performance.now() + milliseconds;
    while (performance.now() < untilMs) {
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await pause(200);
    }
  } finally {
    await client.query(`alter database ${name} with allow_connections true`);
    await client.end();
  }
}
