import { backUpUsers, finishBackup, type UserSection, type WrittenManifest } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { anyLog } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { storeKeysBeside } from '../keys/key-copies.ts';
import { type LoadedBackup, loadBackup, openCopies } from '../load-backup.ts';
import type { CopiesStore } from '../storage/copies-store.ts';
import { removeUnlisted } from '../storage/remove-unlisted.ts';
import { completeBackup } from './complete-backup.ts';
import { withdrawManifest, writeManifestOnce } from './manifest.ts';
import { type RangeRow, rangeStore } from './range-store.ts';
import { runBackupJob } from './run-backup-job.ts';

type Job = RunningJob<{ organizationId: string; backupId: string }>;

interface ReadBackup {
  loaded: LoadedBackup;
  ranges: readonly RangeRow[];
}

/** Writes users, manifest and the manifest's copies, then completes the backup in one transaction. */
export async function runFinish(context: BackupsContext, job: Job): Promise<void> {
  const backup = await loadRead(context, job);
  if (backup) await runBackupJob(context, job, backup.loaded.row, (signal) => finish(context, backup, signal));
}

/** The backup once all its ranges are read; undefined before that, and when it has ended. */
async function loadRead(context: BackupsContext, { data }: Job): Promise<ReadBackup | undefined> {
  const { organizationId, backupId } = data;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (loaded?.row.status !== 'running' || !loaded.row.plan) return undefined;
    const ranges = await rangeStore.list(transaction, organizationId, backupId);
    return ranges.every((range) => range.isComplete) ? { loaded, ranges } : undefined;
  });
}

async function finish(context: BackupsContext, { loaded, ranges }: ReadBackup, signal: AbortSignal): Promise<void> {
  const { row } = loaded;
  const keys = await BackupKeyRing.load(context, row.organizationId);
  const dataKey = await keys.unwrap(row.id, row.envelope);
  const store = await openCopies(context, loaded);
  let hasWritten = false;
  const onWrite = () => {
    hasWritten = true;
  };
  try {
    const written = await writeManifestOnce(context, { store, backupId: row.id, keys, signal, onWrite }, () =>
      write(context, { loaded, ranges }, { store, dataKey, signal }),
    );
    await storeKeysBeside(context, row.organizationId, store.working, signal);
    const goodCopies = store.working.map((copy) => copy.storageDestinationId);
    await completeBackup(context, row, { written, ranges, goodCopies });
    if (ranges.some((range) => range.epoch > 1)) await removeUnlisted(store, written.body, signal);
  } finally {
    if (hasWritten) await withdrawManifest(context, row, store);
    await store.close();
  }
}

interface Writing {
  store: CopiesStore;
  dataKey: Uint8Array;
  signal: AbortSignal;
}

async function write(
  context: BackupsContext,
  { loaded, ranges }: ReadBackup,
  writing: Writing,
): Promise<WrittenManifest> {
  const { row } = loaded;
  const users = row.includeAuthUsers ? await readUsers(context, loaded, writing) : undefined;
  return finishBackup({
    ...writing,
    plan: row.plan!,
    ranges: ranges.map((range) => range.state!),
    envelope: row.envelope!,
    authUsers: users?.section ?? null,
    isSafety: row.trigger === 'pre_restore',
    trigger: row.trigger,
    ...(row.logId === anyLog ? {} : { log: row.logId }),
    warnings: [...row.warnings, ...(users?.warnings ?? [])],
    completedAt: `${context.platform.clock.now().toISOString().slice(0, -1)}000000Z`,
  });
}

async function readUsers(
  context: BackupsContext,
  { row, project }: LoadedBackup,
  { store, dataKey, signal }: Writing,
): Promise<UserSection> {
  const { codec, buffers } = context.engine;
  const firestore = await context.sources.open(project);
  try {
    const seal = { ownerId: row.id, dataKey, database: row.plan!.database };
    return await backUpUsers(firestore.authUsers, { store, codec, buffers, context: seal, signal });
  } finally {
    await firestore.close();
  }
}
