import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, startApp } from '@holdfast/server';
import { OffsetClock } from '@holdfast/server/platform/clock';
import { startEmbeddedPostgres } from '@holdfast/server/platform/database/embedded-postgres';
import { createLogger } from '@holdfast/server/platform/log';
import pg from 'pg';

/** A service that only answers calls, with a database of its own to fill: nothing works on what is written there. */
export async function startApiWorld(name: string, settings: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), `holdfast-${name}-`));
  const log = createLogger('error');
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'database'), log, unsafeFast: true });
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: postgres.url,
    HOLDFAST_DATA: join(folder, 'data'),
    MASTER_KEY: randomBytes(32).toString('base64'),
    HOLDFAST_ROLES: 'api',
    LOG_LEVEL: 'error',
    ...settings,
  });
  const clock = new OffsetClock();
  const app = await startApp(config, { log, clock });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  return {
    app,
    clock,
    client,
    close: async () => {
      await client.end();
      await app.close();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
