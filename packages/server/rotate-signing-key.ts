import { startApp } from './app.ts';
import type { Config } from './config.ts';
import { rotateSigningKey } from './modules/auth/index.ts';
import { runOperatorCommand } from './operator-command.ts';

/**
 * Replaces the key that signs access tokens, for when it may have become known; the service does the same by itself
 * every 90 days. Nobody is signed out: the old key verifies until its last token has expired. Running processes use the
 * new key within a minute.
 */
export async function replaceSigningKey(config: Config): Promise<void> {
  const app = await startApp({ ...config, HOST: '127.0.0.1', PORT: 0, HOLDFAST_ROLES: [] });
  try {
    await rotateSigningKey(app.platform);
  } finally {
    await app.close();
  }
}

async function main(config: Config): Promise<void> {
  await replaceSigningKey(config);
  process.stdout.write('A new key signs access tokens from now on.\n');
}

if (import.meta.main)
  await runOperatorCommand(
    { name: 'rotate-signing-key', about: 'Replaces the key that signs access tokens. Nobody is signed out.' },
    main,
  );
