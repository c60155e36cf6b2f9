import { startApp } from './app.ts';
import { type Config, ConfigurationError, loadConfig } from './config.ts';
import { rotateSigningKey } from './modules/auth/index.ts';
import { DataFolderInUse } from './platform/database/embedded-postgres.ts';

/**
 * Replaces the key that signs access tokens, for when it may have become known; the service does the same by itself
 * every 90 days. Nobody is signed out: the old key verifies until its last token has expired. Processes that are
 * running take the new key within a minute.
 */
export async function replaceSigningKey(config: Config): Promise<void> {
  const app = await startApp({ ...config, HOST: '127.0.0.1', PORT: 0, HOLDFAST_ROLES: [] });
  try {
    await rotateSigningKey(app.platform);
  } finally {
    await app.close();
  }
}

async function main(): Promise<void> {
  await replaceSigningKey(loadConfig({ LOG_LEVEL: 'warn', ...process.env }));
  process.stdout.write('A new key signs access tokens from now on.\n');
}

if (import.meta.main) {
  main().catch((error: unknown) => {
    const expected = error instanceof ConfigurationError || error instanceof DataFolderInUse;
    process.stderr.write(`${expected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
    process.exitCode = 1;
  });
}
