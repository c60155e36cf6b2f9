import type { Config } from './config.ts';
import { requireDataFolder } from './data-folder.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './platform/database/embedded-postgres.ts';
import type { Logger } from './platform/log.ts';

/**
 * Starts the database server in the data folder, unless another database is configured. It starts in other processes,
 * so call this first and load the service meanwhile. A failure is reported to whatever awaits the result.
 */
export function startEmbeddedDatabase(config: Config, log: Logger): Promise<EmbeddedPostgres> | undefined {
  if (config.DATABASE_URL) return undefined;
  const begun = requireDataFolder(config, log).then(() => startEmbeddedPostgres({ folder: config.HOLDFAST_DATA, log }));
  begun.catch(() => undefined);
  return begun;
}

/** Ends what was started, also if nobody has waited for it. */
export async function stopEmbeddedDatabase(begun: Promise<EmbeddedPostgres> | undefined): Promise<void> {
  const database = await begun?.catch(() => undefined);
  await database?.stop();
}
