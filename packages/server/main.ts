import { tuneCollector } from '@holdfast/engine';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { startApp } from './app.ts';
import { type Config, ConfigurationError, describeConfig, loadConfig } from './config.ts';
import { DataFolderInUse } from './platform/database/embedded-postgres.ts';

/** Starts the service, or with `--print-config` shows how it would start. */
async function main(): Promise<void> {
  tuneCollector();
  const config = loadConfig(process.env);
  if (process.argv.includes('--print-config')) {
    process.stdout.write(`${describeConfig(config)}\n`);
    return;
  }
  const app = await startApp(config, { dashboardFolder: await builtDashboard(config) });
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

/** Built on first start, and again when its sources are newer. A service without it is still a service. */
async function builtDashboard(config: Config): Promise<string> {
  if (config.HOLDFAST_ROLES.includes('api')) {
    await ensureDashboard((line) => process.stdout.write(`${line}\n`)).catch((error: unknown) =>
      process.stderr.write(`The dashboard was not built: ${error instanceof Error ? error.message : String(error)}\n`),
    );
  }
  return dashboardFolder;
}

main().catch((error: unknown) => {
  const expected =
    error instanceof ConfigurationError ||
    error instanceof DataFolderInUse ||
    (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  process.stderr.write(`${expected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = 1;
});
