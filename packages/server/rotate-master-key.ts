import { openDatabase } from './app.ts';
import type { Config } from './config.ts';
import { startEmbeddedDatabase, stopEmbeddedDatabase } from './embedded-database.ts';
import { createBackupKeys, type KeyCopiesReport, renewKeysEverywhere } from './modules/backups/index.ts';
import { jobDefinitions, sealedColumns } from './modules/declarations.ts';
import { activeOrganization, isTaken, OrganizationKeys } from './modules/organizations/index.ts';
import { StoreOpener } from './modules/storage/index.ts';
import { runOperatorCommand } from './operator-command.ts';
import { systemClock } from './platform/clock.ts';
import { connectDatabase, type Database } from './platform/database/database.ts';
import { isServed } from './platform/database/database-state.ts';
import { createIds } from './platform/ids.ts';
import { Lifecycle } from './platform/lifecycle.ts';
import { createProcessLogger, type Logger } from './platform/log.ts';
import { createOutbound } from './platform/outbound/outbound.ts';
import { Queue } from './platform/queue.ts';
import { forgetPreviousKeyFile, loadKeyring, renewKeyFile } from './platform/secrets/master-key.ts';
import type { MasterKeyring } from './platform/secrets/master-keyring.ts';
import { type ResealReport, reseal } from './platform/secrets/reseal.ts';
import { StartFailure } from './platform/start-failure.ts';

const attemptsMax = 3;

export interface RotationReport extends ResealReport {
  copies: KeyCopiesReport;
}

/**
 * Reseals every secret under a new master key, in the database and beside the backups. This command replaces a key in
 * the data folder. A key that the operator keeps is expected in MASTER_KEY, with the previous one in
 * MASTER_KEYS_PREVIOUS.
 */
export async function rotateMasterKey(config: Config): Promise<RotationReport> {
  if (!config.MASTER_KEY) {
    await requireStopped(config);
    await renewKeyFile(config.HOLDFAST_DATA);
  }
  const log = createProcessLogger(config);
  const lifecycle = new Lifecycle(log);
  try {
    const keyring = await loadKeyring(config);
    const embeddedDatabase = startEmbeddedDatabase(config, log);
    lifecycle.onClose('embedded database', () => stopEmbeddedDatabase(embeddedDatabase));
    const url = await openDatabase(config, keyring, log, embeddedDatabase);
    const database = connectDatabase({ url, poolSize: 4, log });
    lifecycle.onClose('database pool', () => database.close());
    const resealed = await reseal(database, keyring, sealedColumns, jobDefinitions);
    const queue = new Queue({ url, jobs: jobDefinitions, log }, false);
    await queue.start();
    lifecycle.onClose('queue', () => queue.close(0));
    const report = { ...resealed, copies: await renewCopies(config, { keyring, database, queue, log }) };
    if (!config.MASTER_KEY && !isOldKeyNeeded(report)) await forgetPreviousKeyFile(config.HOLDFAST_DATA);
    return report;
  } finally {
    await lifecycle.close();
  }
}

/**
 * A process that keeps running would seal under the old key, and nobody could open that after the key has left the
 * folder.
 */
async function requireStopped({ DATABASE_URL, HOLDFAST_DATA }: Config): Promise<void> {
  // Only one process can use a database in the data folder.
  if (!DATABASE_URL || !(await isServed(DATABASE_URL))) return;
  throw new StartFailure(
    `Holdfast is running on this database. It has the old key in memory and would seal with it what nobody could open any more once that key has left ${HOLDFAST_DATA}. Stop every process of the service, then run this command again; nothing was changed.`,
  );
}

function renewCopies(
  config: Config,
  platform: { keyring: MasterKeyring; database: Database; queue: Queue; log: Logger },
): Promise<KeyCopiesReport> {
  const { keyring } = platform;
  const outbound = createOutbound({ allowedSubnets: config.OUTBOUND_ALLOWED_SUBNETS });
  const maker = { keyring, clock: systemClock, ids: createIds(systemClock) };
  const context = {
    platform,
    organizations: { active: activeOrganization },
    keys: createBackupKeys(new OrganizationKeys(maker), isTaken),
    stores: new StoreOpener({ config, keyring, outbound }),
  };
  return renewKeysEverywhere(context, { attemptsMax, signal: new AbortController().signal });
}

function isOldKeyNeeded({ left, copies }: RotationReport): boolean {
  return Object.keys(left).length > 0 || copies.left.length > 0;
}

export function describeRotation(report: RotationReport): string {
  const { resealed, left, copies } = report;
  const lines = Object.entries(resealed).map(([column, count]) => `  ${column}: ${count}`);
  const sentences = [
    lines.length > 0 ? `Sealed anew:\n${lines.join('\n')}` : 'Everything was sealed under the current key already.',
    `Destinations in which the keys lie under the current key: ${copies.renewed}`,
  ];
  const columns = Object.keys(left);
  if (columns.length > 0) sentences.push(`KEEP THE OLD KEY: ${columns.join(', ')} still need it.`);
  if (copies.left.length > 0) {
    const places = copies.left.map(
      ({ name, storageDestinationId, reason }) => `  ${name} (${storageDestinationId}): ${reason}`,
    );
    sentences.push(
      `KEEP THE OLD KEY: in these destinations the keys lie under it alone:\n${places.join('\n')}`,
      'Run this command again when they can be reached; one that is gone for good can be removed in Holdfast.',
    );
  }
  if (!isOldKeyNeeded(report))
    sentences.push(
      'Nothing here needs the old key any more; MASTER_KEYS_PREVIOUS can be emptied. Older copies of the database do: keep it as long as you keep them.',
    );
  return sentences.join('\n');
}

async function main(config: Config): Promise<void> {
  const report = await rotateMasterKey(config);
  process.stdout.write(`${describeRotation(report)}\n`);
  if (isOldKeyNeeded(report)) process.exitCode = 1;
}

if (import.meta.main)
  await runOperatorCommand(
    {
      name: 'rotate-master-key',
      about: `Seals every secret anew under a new master key: one that it makes where the key lies in the data folder,
else the one in MASTER_KEY, with the one before it in MASTER_KEYS_PREVIOUS.`,
    },
    main,
  );
