import {
  BackupReader,
  EngineError,
  type ForeignFormat,
  isEngineError,
  openChain,
  openForeignView,
  withScratch,
  writeViewAsBackup,
} from '@holdfast/engine';
import { databaseName } from '../../projects/index.ts';
import { backupStore } from '../backup-store.ts';
import { requireComplete } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import {
  runSingleStep,
  type SingleStepJob,
  type SingleStepResult,
  type SingleStepWork,
  writeOnce,
} from '../run/single-step-backup.ts';
import { copyBackupObjects } from '../storage/copy-objects.ts';
import { findLock, foreignSourceOf, registerBackup } from '../storage/register-backup.ts';
import type { ImportRequest } from '../tables.ts';
import { warning } from '../warnings.ts';
import { locateBackup, openLocated } from './import-source.ts';
import { PrefixedStore } from './prefixed-store.ts';

/** Makes a backup from a foreign file, or registers one of ours where it is. */
export async function runImport(context: BackupsContext, job: SingleStepJob): Promise<void> {
  await runSingleStep(context, job, async (work) => {
    const { imported } = work.loaded.row;
    if (!imported) throw new Error('the backup is no import');
    try {
      return imported.source === 'holdfast'
        ? await takeIn(context, work, imported)
        : await convert(context, work, imported, imported.source);
    } catch (error) {
      if (isEngineError(error, 'VALIDATION_ERROR') || isEngineError(error, 'STORAGE_NOT_FOUND'))
        throw new EngineError('INTEGRITY_ERROR', error.message, { cause: error });
      throw error;
    }
  });
}

async function convert(
  context: BackupsContext,
  work: SingleStepWork,
  { path, createdAt }: ImportRequest,
  format: ForeignFormat,
): Promise<SingleStepResult> {
  const { store, keys, signal, loaded } = work;
  const database = databaseName(loaded.project);
  const { codec } = context.engine;
  const current = createdAt ?? loaded.row.createdAt.toISOString();
  const written = await writeOnce(context, work, () =>
    withScratch(async (scratch) => {
      const warnings: string[] = [];
      const onWarning = (text: string) => warnings.push(warning('NOTE', text));
      const view = await openForeignView({ store, path, format, database, scratch, codec, signal, onWarning });
      return writeViewAsBackup(
        {
          database,
          records: view.records({}, { signal }),
          type: 'full',
          importedFrom: format,
          warnings: warnings.slice(0, 100),
          snapshotTime: `${new Date(current).toISOString().slice(0, -1)}000000Z`,
        },
        { store, keys, codec, signal, backupId: loaded.row.id, trigger: loaded.row.trigger, onProgress: work.show },
      );
    }),
  );
  return { written, change: { warnings: [...loaded.row.warnings, ...written.body.warnings] } };
}

/**
 * Copies the backup and its parents to their place, if they are elsewhere, checks that they are whole, and registers
 * them.
 */
async function takeIn(
  context: BackupsContext,
  work: SingleStepWork,
  imported: ImportRequest,
): Promise<SingleStepResult> {
  const { store, keys, signal, loaded } = work;
  const located = locateBackup(imported.path);
  const { codec } = context.engine;
  const found = await openLocated(store, located, keys, codec, signal);
  await work.expect(found.body.counts.documents);
  const from = new PrefixedStore(store, located.folder);
  const chain = await openChain({ store: from, backupId: located.backupId, keys, codec, signal });
  for (const reader of chain) {
    await requireComplete(from, reader, signal);
    if (located.folder === '' || (await liesThere(context, work, reader))) continue;
    await copyBackupObjects(reader.backupId, from, store, { signal });
  }
  for (const reader of chain.slice(0, -1)) await registerParent(context, work, reader);
  const newest = chain.at(-1)!;
  const { counts } = newest.body;
  const source = foreignSourceOf(newest.body);
  const change = {
    ...(source ? { imported: { ...imported, source } } : {}),
    startedAt: new Date(newest.body.createdAt),
    completedAt: new Date(newest.body.completedAt),
    warnings: [...loaded.row.warnings, ...newest.body.warnings].map((text) => text.slice(0, 2000)).slice(0, 100),
  };
  return {
    written: { body: newest.body, manifestSha256: newest.manifestSha256, storedBytes: counts.storedBytes },
    change,
  };
}

/** Whether the same backup is there, whole. Copying over it could undo a rotation that came after the copy was made. */
async function liesThere(
  context: BackupsContext,
  { store, keys, signal }: SingleStepWork,
  { backupId, manifestSha256 }: BackupReader,
): Promise<boolean> {
  try {
    const { codec } = context.engine;
    const there = await BackupReader.open({ store, backupId, keys, codec, signal });
    await requireComplete(store, there, signal);
    return there.manifestSha256 === manifestSha256;
  } catch (error) {
    const isNone = (['STORAGE_NOT_FOUND', 'INTEGRITY_ERROR', 'DECRYPTION_ERROR'] as const).some((code) =>
      isEngineError(error, code),
    );
    if (isNone) return false;
    throw error;
  }
}

async function registerParent(
  context: BackupsContext,
  { loaded, store, signal }: SingleStepWork,
  reader: BackupReader,
): Promise<void> {
  const { organizationId, projectId, imported } = loaded.row;
  const { destination } = loaded;
  if (!destination) return;
  const found = await findLock(store, destination, reader, signal);
  const ofDatabase = imported?.ofDatabase;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const known = await backupStore.findAny(transaction, organizationId, reader.backupId);
    if (!known) await registerBackup(context, transaction, destination, projectId, found, ofDatabase);
  });
}
