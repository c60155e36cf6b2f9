import type { Config } from './config.ts';
import { requireDataFolder } from './data-folder.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './platform/database/embedded-postgres.ts';
import type { Logger } from './platform/log.ts';

/**
 * Begins the database server in the data folder, unless another one is configured. It starts in processes of its own, so
 * whoever has something else to do meanwhile, such as loading the service, begins with this. Whether it failed is told to
 * whoever waits for it.
 */
export function beginOwnDatabase(config: Config, log: Logger): Promise<EmbeddedPostgres> | undefined {
  if (config.DATABASE_URL) return undefined;
  const begun = requireDataFolder(config, log).then(() => startEmbeddedPostgres({ folder: config.HOLDFAST_DATA, log }));
  begun.catch(() => undefined);
  return begun;
}

/** Ends what was begun, also where nobody has waited for it. */
export async function endOwnDatabase(begun: Promise<EmbeddedPostgres> | undefined): Promise<void> {
  const database = await begun?.catch(() => undefined);
  await database?.stop();
}
