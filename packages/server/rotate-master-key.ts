import { openDatabase } from './app.ts';
import type { Config } from './config.ts';
import { sealedColumns } from './modules/declarations.ts';
import { runOperatorCommand } from './operator-command.ts';
import { connectDatabase } from './platform/database/database.ts';
import { Lifecycle } from './platform/lifecycle.ts';
import { createProcessLogger } from './platform/log.ts';
import { forgetPreviousKeyFile, loadKeyring, renewKeyFile } from './platform/secrets/master-key.ts';
import { type ResealReport, reseal } from './platform/secrets/reseal.ts';

/**
 * Seals every secret anew under a new master key. A key that lives in the data folder is replaced by this command; one
 * that the operator keeps is expected in MASTER_KEY already, with the one before it in MASTER_KEYS_PREVIOUS.
 */
export async function rotateMasterKey(config: Config): Promise<ResealReport> {
  if (!config.MASTER_KEY) await renewKeyFile(config.HOLDFAST_DATA);
  const log = createProcessLogger(config);
  const lifecycle = new Lifecycle(log);
  try {
    const keyring = await loadKeyring(config);
    const url = await openDatabase(config, keyring, log, lifecycle);
    const database = connectDatabase({ url, poolSize: 2, log });
    lifecycle.onClose('database pool', () => database.close());
    const report = await reseal(database, keyring, sealedColumns);
    if (!config.MASTER_KEY && Object.keys(report.left).length === 0) await forgetPreviousKeyFile(config.HOLDFAST_DATA);
    return report;
  } finally {
    await lifecycle.close();
  }
}

function describe({ resealed, left }: ResealReport): string {
  const lines = Object.entries(resealed).map(([column, count]) => `  ${column}: ${count}`);
  const told =
    lines.length > 0 ? `Sealed anew:\n${lines.join('\n')}` : 'Everything was sealed under the current key already.';
  const names = Object.keys(left);
  if (names.length > 0) return `${told}\nKEEP THE OLD KEY: ${names.join(', ')} still need it.`;
  return `${told}\nNothing in this database needs the old key any more; MASTER_KEYS_PREVIOUS can be emptied. Older copies of the database do: keep it as long as you keep them.`;
}

async function main(config: Config): Promise<void> {
  const report = await rotateMasterKey(config);
  process.stdout.write(`${describe(report)}\n`);
  if (Object.keys(report.left).length > 0) process.exitCode = 1;
}

if (import.meta.main) await runOperatorCommand(main);
