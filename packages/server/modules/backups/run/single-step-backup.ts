import { BackupReader, type KeyRing, type WrittenManifest, wholeView } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { backupStore, type NewBackup } from '../backup-store.ts';
import { manifestFacts } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, openCopies } from '../load-backup.ts';
import type { CopiesStore } from '../storage/copies-store.ts';
import { removeUnlisted } from '../storage/remove-objects.ts';
import { admitBackups } from './admission.ts';
import { failBackup, mayPass } from './end-backup.ts';
import { completeBackup, findManifest, replicateManifest } from './finish-backup.job.ts';
import { beginBackup } from './plan-backup.job.ts';
import { keepWatch, reasonOf, Superseded } from './progress.ts';

export type WholeJob = RunningJob<{ organizationId: string; backupId: string }>;

/** What a job that makes a backup in one go works with. */
export interface WholeWork {
  loaded: LoadedBackup;
  store: CopiesStore;
  keys: KeyRing;
  signal: AbortSignal;
  /** How many documents are done so far. */
  show(documents: number): void;
  /** How many there will be. */
  expect(documents: number): Promise<void>;
}

export interface WholeResult {
  written: WrittenManifest;
  change?: Partial<NewBackup>;
}

/** Begins the backup, watches over it while it is made, and ends it: completed, failed, or left to another attempt. */
export async function runWhole(
  context: BackupsContext,
  job: WholeJob,
  make: (work: WholeWork) => Promise<WholeResult>,
): Promise<void> {
  const { organizationId, backupId } = job.data;
  const loaded = await beginBackup(context, organizationId, backupId);
  if (!loaded) return;
  try {
    await carryOut(context, loaded, job, make);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason instanceof Superseded) return;
    if (job.signal.aborted) throw error;
    if (mayPass(reason) && job.attempt < context.platform.config.JOB_ATTEMPTS) throw reason;
    context.platform.log.warn({ err: reason, backupId }, 'a backup could not be made');
    await failBackup(context, organizationId, backupId, reason);
  }
  await admitBackups(context.platform);
}

async function carryOut(
  context: BackupsContext,
  loaded: LoadedBackup,
  job: WholeJob,
  make: (work: WholeWork) => Promise<WholeResult>,
): Promise<void> {
  const { database } = context.platform;
  const { organizationId, id: backupId } = loaded.row;
  const update = (change: Partial<NewBackup>) =>
    database.tenant(organizationId, (transaction) => backupStore.update(transaction, organizationId, backupId, change));
  await update({ phase: 'Writing' });
  const keys = await BackupKeyRing.load(context, organizationId);
  const store = await openCopies(context, loaded);
  const figures = { documents: 0, bytes: 0, reads: 0 };
  const watch = keepWatch(context, loaded.row, figures);
  const signal = AbortSignal.any([job.signal, watch.signal]);
  try {
    const show = (documents: number) => {
      figures.documents = documents;
    };
    const expect = async (documentsExpected: number) => void (await update({ documentsExpected }));
    const { written, change } = await make({ loaded, store, keys, signal, show, expect });
    const reader = await BackupReader.open({ store, backupId, keys, codec: context.engine.codec, signal });
    await replicateManifest(store, backupId, written.body, signal);
    const keyId = await database.tenant(organizationId, (transaction) =>
      context.keys.keyOf(transaction, organizationId, backupId, reader.envelope),
    );
    const goodCopies = store.working.map((copy) => copy.storageDestinationId);
    const facts = { ...manifestFacts(written.body), envelope: reader.envelope, keyId: keyId ?? null, ...change };
    await completeBackup(context, loaded.row, written, { goodCopies, change: facts });
    if (job.attempt > 1) await removeUnlisted(store, written.body, signal, reader.descriptors(wholeView));
  } finally {
    watch.end();
    await store.close();
  }
}

/** Writes unless an earlier attempt had written already and died before it could say so. */
export async function writeOnce(
  context: BackupsContext,
  { loaded, store, keys, signal }: WholeWork,
  write: () => Promise<WrittenManifest>,
): Promise<WrittenManifest> {
  return (await findManifest(context, store, loaded.row, keys, signal)) ?? (await write());
}
