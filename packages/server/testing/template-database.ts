import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseFunctions, jobDefinitions } from '../modules/declarations.ts';
import { startEmbeddedPostgres } from '../platform/database/embedded-postgres.ts';
import { prepareDatabase } from '../platform/database/migrate.ts';
import { createLogger } from '../platform/log.ts';
import { prepareQueue, queueFingerprint } from '../platform/queue.ts';

export interface TemplateDatabase {
  /** The owner's connection to a migrated, empty database: the template that every test database is copied from. */
  readonly url: string;
  stop(): Promise<void>;
}

/** A separate real PostgreSQL, removed afterwards. */
export async function startTemplateDatabase(parent = tmpdir()): Promise<TemplateDatabase> {
  const folder = await mkdtemp(join(parent, 'holdfast-test-'));
  // Accessible to the user of the server process, so that the database is created in here and removed with it.
  await chmod(folder, 0o755);
  const log = createLogger('warn');
  const server = await startEmbeddedPostgres({ folder, log, unsafeFast: true });
  await prepareDatabase({
    ownerUrl: server.url,
    log,
    functions: databaseFunctions,
    afterTables: (url) => prepareQueue(url, jobDefinitions),
    fingerprint: queueFingerprint(jobDefinitions),
  });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
