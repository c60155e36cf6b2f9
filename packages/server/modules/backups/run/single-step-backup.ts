import { BackupReader, type KeyRing, type WrittenManifest, wholeView } from '@holdfast/engine';
import { later } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { backupStore, type NewBackup } from '../backup-store.ts';
import { manifestColumns } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import type { BackupJobData } from '../jobs.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { storeKeysBeside } from '../keys/key-copies.ts';
import { type LoadedBackup, openCopies } from '../load-backup.ts';
import type { CopiesStore } from '../storage/copies-store.ts';
import { removeUnlisted } from '../storage/remove-unlisted.ts';
import { backupTimeoutMs } from './backup-timeout.ts';
import { beginBackup } from './begin-backup.ts';
import { completeBackup } from './complete-backup.ts';
import { withdrawManifest, writeManifestOnce } from './manifest.ts';
import { runBackupJob } from './run-backup-job.ts';

export type SingleStepJob = RunningJob<BackupJobData>;

/** What a job that makes a backup in one step works with. */
export interface SingleStepWork {
  loaded: LoadedBackup;
  store: CopiesStore;
  keys: KeyRing;
  signal: AbortSignal;
  /** Called before the manifest is written. */
  onWrite(): void;
  /** How many documents are done so far. */
  show(documents: number): void;
  /** How many there will be. */
  expect(documents: number): Promise<void>;
}

export interface SingleStepResult {
  written: WrittenManifest;
  change?: Partial<NewBackup>;
}

/** Begins the backup, makes it, and ends it: completed, failed, or left to the next attempt. */
export async function runSingleStep(
  context: BackupsContext,
  job: SingleStepJob,
  make: (work: SingleStepWork) => Promise<SingleStepResult>,
): Promise<void> {
  const loaded = await beginBackup(context, job);
  if (!loaded) return;
  const figures = { documents: 0, bytes: 0, reads: 0 };
  const show = (documents: number) => {
    figures.documents = documents;
  };
  const isRepeated = job.attempt > 1;
  const work = (signal: AbortSignal) => makeAndComplete(context, { loaded, signal, show, isRepeated }, make);
  await runBackupJob(context, job, loaded.row, work, figures);
}

export interface SingleStep extends Pick<SingleStepWork, 'loaded' | 'signal' | 'show'> {
  isRepeated: boolean;
  /** The keys that were in use when the parent was chosen; absent: the keys in use now. */
  keys?: KeyRing;
}

/** Makes the backup that `loaded` has begun, and completes it. */
export async function makeAndComplete(
  context: BackupsContext,
  { isRepeated, keys: given, ...step }: SingleStep,
  make: (work: SingleStepWork) => Promise<SingleStepResult>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { loaded, signal } = step;
  const { organizationId, id: backupId } = loaded.row;
  const update = (change: Partial<NewBackup>) =>
    database.tenant(organizationId, (transaction) => backupStore.update(transaction, organizationId, backupId, change));
  await update({ phase: 'Writing' });
  const keys = given ?? (await BackupKeyRing.load(context, organizationId));
  const store = await openCopies(context, loaded);
  let hasWritten = false;
  const onWrite = () => {
    hasWritten = true;
  };
  try {
    const expect = async (documentsExpected: number) => {
      const timeoutMs = backupTimeoutMs(loaded.project.backupTimeoutMinutes, documentsExpected);
      await update({ documentsExpected, deadlineAt: later(loaded.row.startedAt ?? clock.now(), timeoutMs) });
    };
    const { written, change } = await make({ ...step, store, keys, expect, onWrite });
    const reader = await BackupReader.open({ store, backupId, keys, codec: context.engine.codec, signal });
    const dataKey = await keys.unwrap(backupId, reader.envelope);
    await storeKeysBeside(context, organizationId, store.working, signal);
    await completeBackup(context, loaded.row, {
      written,
      goodCopies: store.working.map((copy) => copy.storageDestinationId),
      change: { ...manifestColumns(written.body), ...change },
      wrapped: { envelope: reader.envelope, dataKey, isOurs: loaded.row.imported?.source !== 'holdfast' },
    });
    if (isRepeated) await removeUnlisted(store, written.body, signal, reader.descriptors(wholeView));
  } finally {
    if (hasWritten) await withdrawManifest(context, loaded.row, store);
    await store.close();
  }
}

/** Writes the backup, unless an earlier attempt wrote it and died before it could report so. */
export async function writeOnce(
  context: BackupsContext,
  { loaded, store, keys, signal, onWrite }: SingleStepWork,
  write: () => Promise<WrittenManifest>,
): Promise<WrittenManifest> {
  return writeManifestOnce(context, { store, backupId: loaded.row.id, keys, signal, onWrite }, write);
}
