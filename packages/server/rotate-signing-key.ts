import { startApp } from './app.ts';
import { loadConfig } from './config.ts';
import { rotateSigningKey } from './modules/auth/index.ts';

/**
 * Replaces the key that signs access tokens, with the configuration of the service: `node packages/server/rotate-signing-key.ts`.
 * Nobody is signed out. Running processes take the new key within a minute.
 * The service does the same by itself every 90 days; this is for a key that may have become known.
 */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const app = await startApp({ ...config, HOST: '127.0.0.1', PORT: 0, LOG_LEVEL: 'warn', HOLDFAST_ROLES: [] });
  try {
    await rotateSigningKey(app.platform);
    process.stdout.write('A new key signs access tokens from now on.\n');
  } finally {
    await app.close();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
