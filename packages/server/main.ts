import { tuneCollector } from '@holdfast/engine';
import { startApp } from './app.ts';
import { ConfigurationError, describeConfig, loadConfig } from './config.ts';
import { DataFolderInUse } from './platform/database/embedded-postgres.ts';

/** Starts the service, or with `--print-config` shows how it would start. */
async function main(): Promise<void> {
  tuneCollector();
  const config = loadConfig(process.env);
  if (process.argv.includes('--print-config')) {
    process.stdout.write(`${describeConfig(config)}\n`);
    return;
  }
  const app = await startApp(config);
  process.stdout.write(`Holdfast is running at ${app.platform.baseUrl()}\n`);
  if (app.signInLink) process.stdout.write(`Sign in: ${app.signInLink}\n`);
  let asked = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (++asked > 1) process.exit(1);
      app.close().then(() => process.exit(0));
    });
  }
}

main().catch((error: unknown) => {
  const expected =
    error instanceof ConfigurationError ||
    error instanceof DataFolderInUse ||
    (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  process.stderr.write(`${expected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = 1;
});
