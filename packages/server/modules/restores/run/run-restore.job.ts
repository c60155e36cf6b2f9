import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApplyProgress,
  type ApplyResult,
  type BackupReader,
  type ConnectedFirestore,
  documentsScope,
  EngineError,
  instantToParts,
  isEngineError,
  previewRestore,
  readUsers,
  restoreDeletes,
  restorePuts,
  type Scope,
  type View,
  verifyChain,
  viewOfChain,
  type WriteGuard,
} from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { backupStore, mayPass } from '../../backups/index.ts';
import { toJobError } from '../../job-error.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { tellRestore } from '../restore-events.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { admitRestores } from './admission.ts';
import { endRestore } from './end-restore.ts';
import { RestoreMeter, Superseded } from './restore-meter.ts';

type Job = RunningJob<{ organizationId: string; restoreId: string }>;

const safetyPollMs = 400;

interface Work {
  row: RestoreRow;
  project: ProjectRow;
  target: ProjectRow;
  organization: { id: string; name: string };
}

/** One restore from its last checkpoint to its end, through the eight phases. */
export async function runRestore(context: RestoresContext, job: Job): Promise<void> {
  const work = await claim(context, job);
  if (!work) return;
  const meter = new RestoreMeter(context, work);
  const signal = meter.start(job.signal);
  try {
    await carryOut(context, work, meter, signal);
  } catch (error) {
    await handleFailure(context, work.row, meter, job, error);
  } finally {
    await meter.stop();
    await admitRestores(context.platform);
  }
}

async function claim(context: RestoresContext, job: Job): Promise<Work | undefined> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, restoreId } = job.data;
  return database.tenant(organizationId, async (transaction) => {
    const organization = await context.organizations.active(transaction, organizationId);
    const found = await restoreStore.find(transaction, organizationId, restoreId);
    if (!organization || !found) return undefined;
    const row = await restoreStore.lock(transaction, organizationId, restoreId);
    if (row.status !== 'pending' && row.status !== 'running') return undefined;
    const project = await projectStore.findKept(transaction, organizationId, row.projectId);
    const target = await projectStore.findKept(transaction, organizationId, row.targetProjectId);
    if (!project || !target) return undefined;
    const now = clock.now();
    const claimed = await restoreStore.update(transaction, organizationId, restoreId, {
      status: 'running',
      epoch: row.epoch + 1,
      startedAt: row.startedAt ?? now,
      updatedAt: now,
    });
    const work = { row: claimed, project, target, organization: { id: organization.id, name: organization.name } };
    if (row.startedAt === null) await tellRestore(outbox, transaction, 'restore.started', work);
    return work;
  });
}

async function carryOut(context: RestoresContext, work: Work, meter: RestoreMeter, signal: AbortSignal): Promise<void> {
  const { row, target } = work;
  await meter.enter('Initializing');
  const firestore = await context.sources.open(target);
  let chain: { readers: BackupReader[]; close(): Promise<void> } | undefined;
  try {
    await firestore.source.snapshotTime({ signal }).catch(asRestoreError);
    await meter.enter('Downloading');
    chain = await context.backups.openChainOf(row.organizationId, row.backupId, signal);
    await meter.enter('Decrypting');
    const view = viewOfChain(chain.readers);
    await meter.enter('Decompressing');
    const expected = await measure(view, row, signal);
    await meter.enter('Validating');
    await meter.expect(expected);
    await validate(chain.readers, view, row, signal);
    if (row.dryRun) return await finishDryRun(context, work, view, firestore, meter, signal);
    await saveWhatIsOverwritten(context, work, meter, signal);
    await meter.enter('Restoring');
    const outcome = await write(work, view, firestore, meter, signal);
    await meter.enter('Finalizing');
    if (row.includeAuthUsers) await writeUsers(chain.readers, firestore, meter, signal);
    await endRestore(context, work, { result: outcome, users: meter.userFailures });
  } finally {
    await chain?.close();
    await firestore.close();
  }
}

function asRestoreError(error: unknown): never {
  if (isEngineError(error, 'SOURCE_AUTH_ERROR'))
    throw new EngineError('RESTORE_PERMISSION_DENIED', error.message, { cause: error, details: error.details });
  throw error;
}

export function scopeOfRestore(row: Pick<RestoreRow, 'collections' | 'includeSubcollections'>): Scope | undefined {
  return row.collections
    ? { collections: row.collections, includeSubcollections: row.includeSubcollections, excludeCollections: [] }
    : undefined;
}

/** How much there is to write, from the names alone. */
async function measure(
  view: View,
  row: RestoreRow,
  signal: AbortSignal,
): Promise<{ documents: number; collections: number }> {
  const collections = new Set<string>();
  let documents = 0;
  const count = (path: string) => {
    documents++;
    if (collections.size < 10_000) collections.add(path.slice(0, path.lastIndexOf('/')));
  };
  if (row.documentPaths) for (const path of row.documentPaths) count(path);
  else {
    const scope = scopeOfRestore(row);
    for await (const page of view.entries(scope ? { scope } : {}, { signal })) for (const { path } of page) count(path);
  }
  return { documents, collections: collections.size };
}

/** Nothing is written before everything that will be read has been read once and found whole. */
async function validate(
  chain: readonly BackupReader[],
  view: View,
  row: RestoreRow,
  signal: AbortSignal,
): Promise<void> {
  if (row.documentPaths) {
    const missing: string[] = [];
    for (const path of row.documentPaths) if ((await view.get(path, { signal })) === undefined) missing.push(path);
    if (missing.length > 0)
      throw new Problem(
        'DOCUMENT_NOT_FOUND',
        `The backup does not hold ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${missing.length - 5} more` : ''}.`,
      );
    return;
  }
  const verified = await verifyChain(chain, view, { signal });
  if (verified.isIntact) return;
  throw new EngineError(
    'INTEGRITY_ERROR',
    `The backup is damaged; nothing was written. ${verified.errors[0]?.message ?? ''}`,
    { details: { errors: verified.errorCount } },
  );
}

async function finishDryRun(
  context: RestoresContext,
  work: Work,
  view: View,
  firestore: ConnectedFirestore,
  meter: RestoreMeter,
  signal: AbortSignal,
): Promise<void> {
  const { row } = work;
  const scope = scopeOfRestore(row);
  const preview = await previewRestore({
    view,
    signal,
    source: firestore.source,
    readTime: await firestore.source.snapshotTime({ signal }),
    mode: row.mergeMode,
    deleteExtra: row.deleteExtra,
    ...(row.documentPaths ? { scope: documentsScope(row.documentPaths) } : scope ? { scope } : {}),
  });
  for (const phase of ['Restoring', 'Finalizing'] as const) await meter.enter(phase);
  await endRestore(context, work, { preview });
}

/** Before anything is overwritten it is saved as a backup of its own, unless nothing can be overwritten or the caller does not want it. */
async function saveWhatIsOverwritten(
  context: RestoresContext,
  work: Work,
  meter: RestoreMeter,
  signal: AbortSignal,
): Promise<void> {
  const { row, target } = work;
  const overwrites = row.mergeMode !== 'skip_existing' || row.deleteExtra;
  if (!row.safetyBackup || !overwrites || row.checkpoint.stage !== 'puts' || row.checkpoint.after !== undefined) return;
  const safetyBackupId =
    row.safetyBackupId ?? (await context.backups.startSafetyBackup(row.organizationId, target, row));
  await meter.save({ safetyBackupId });
  for (;;) {
    const backup = await context.platform.database.tenant(row.organizationId, (transaction) =>
      backupStore.get(transaction, row.organizationId, safetyBackupId),
    );
    if (backup.status === 'completed') return;
    if (backup.status !== 'pending' && backup.status !== 'running') {
      const code = (backup.error?.code ?? 'INTERNAL_ERROR') as 'INTERNAL_ERROR';
      throw new Problem(
        code,
        `The safety backup ${safetyBackupId} ended as ${backup.status}, so nothing was overwritten. ${backup.error?.message ?? ''}`,
      );
    }
    await sleep(safetyPollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
  }
}

async function write(
  work: Work,
  view: View,
  firestore: ConnectedFirestore,
  meter: RestoreMeter,
  signal: AbortSignal,
): Promise<ApplyResult> {
  const { row, target } = work;
  const scope = scopeOfRestore(row);
  const common = {
    view,
    signal,
    target: firestore.target,
    mode: row.mergeMode,
    rampUp: target.writeRampUp,
    rewriteReferences: row.rewriteReferences,
    ...(row.documentPaths ? { scope: documentsScope(row.documentPaths) } : scope ? { scope } : {}),
  };
  const { stage, after } = row.checkpoint;
  const from = after === undefined ? {} : { after };
  let result: ApplyResult = { written: 0, skipped: 0, deleted: 0, failed: 0, conflicts: 0, bytes: 0, errors: [] };
  if (stage === 'puts') {
    const onProgress = (progress: ApplyProgress) => meter.checkpoint('puts', progress);
    result = await restorePuts({ ...common, ...from, onProgress });
    await meter.settle('puts', result);
  }
  if (row.deleteExtra && !row.documentPaths && (stage === 'puts' || stage === 'deletes')) {
    const readTime = await firestore.source.snapshotTime({ signal });
    const onProgress = (progress: ApplyProgress) => meter.checkpoint('deletes', progress);
    const deletes = await restoreDeletes({
      ...common,
      ...(stage === 'deletes' ? from : {}),
      live: { source: firestore.source, readTime, began: instantToParts(readTime) },
      guard: leaveChanges,
      onProgress,
    });
    await meter.settle('deletes', deletes);
    result = {
      ...result,
      deleted: deletes.deleted,
      failed: result.failed + deletes.failed,
      errors: [...result.errors, ...deletes.errors].slice(0, 100),
    };
  }
  return result;
}

/** What somebody changed while the restore ran is not deleted. */
const leaveChanges: WriteGuard = {
  repeatedRecords: 0,
  onMismatch: async ({ found }) => (found === null ? 'skip' : 'conflict'),
  onSettled: () => undefined,
};

async function writeUsers(
  chain: readonly BackupReader[],
  firestore: ConnectedFirestore,
  meter: RestoreMeter,
  signal: AbortSignal,
): Promise<void> {
  const newest = chain.at(-1);
  const section = newest?.body.authUsers;
  if (!newest || !section) return;
  const mode = meter.row.mergeMode === 'skip_existing' ? 'skip_existing' : 'overwrite';
  const result = await firestore.authUsers.importUsers(readUsers(newest, signal), {
    hashConfiguration: section.hashConfiguration,
    mode,
    signal,
  });
  meter.userFailures = {
    failed: result.failed,
    errors: result.errors.map(({ localId, message }) => ({
      path: `auth users/${localId}`,
      code: 'AUTH_USER',
      message: message.slice(0, 2000),
    })),
  };
}

async function handleFailure(
  context: RestoresContext,
  row: RestoreRow,
  meter: RestoreMeter,
  job: Job,
  error: unknown,
): Promise<void> {
  const reason = isEngineError(error, 'CANCELLED') && error.cause instanceof Error ? error.cause : error;
  if (reason instanceof Superseded || meter.superseded) return;
  if (job.signal.aborted) throw error;
  const failures = row.failures + 1;
  context.platform.log.warn({ err: reason, restoreId: row.id, failures }, 'a restore stumbled');
  if (mayPass(reason) && failures < context.platform.config.JOB_ATTEMPTS) {
    await meter.save({ failures });
    throw reason;
  }
  await endRestore(context, meter.work, { error: toJobError(reason) });
}
