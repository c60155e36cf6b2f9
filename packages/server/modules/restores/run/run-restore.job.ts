import { type ConnectedFirestore, EngineError, isEngineError, previewRestore, readUsers } from '@holdfast/engine';
import { oneLine } from '../../../platform/one-line.ts';
import type { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { admissionOf, runJob } from '../../jobs/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { journalSeal } from '../journal/restore-journal.ts';
import { cutRanges } from '../ranges/cut-ranges.ts';
import { stopRanges } from '../ranges/stop-ranges.ts';
import { restoreEvent } from '../restore-events.ts';
import type { RestoreSource } from '../restore-source.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { abandonedProblem, isAbandoned } from './abandoned.ts';
import { admitRestores } from './admission.ts';
import { type CancelledRestore, endRestore } from './end-restore.ts';
import { hardStop } from './hard-stop.ts';
import { irreversibleReasons } from './irreversible.ts';
import { measureRestore, requireIntact } from './measure-restore.ts';
import { openRestoreSource } from './open-restore-source.ts';
import { RestoreTracker, type RestoreWork } from './restore-tracker.ts';
import { runUndo } from './run-undo.ts';
import { makeSafetyBackup } from './safety-backup.ts';
import { scopeOfRestore } from './scope-of-restore.ts';
import { writeDocuments } from './write-documents.ts';

type Job = RunningJob<{ organizationId: string; restoreId: string; admission?: number | undefined }>;

/** Runs one restore from its last checkpoint to its end, through the eight phases. */
export async function runRestore(context: RestoresContext, job: Job): Promise<void> {
  const claimed = await claim(context, job);
  if (claimed) await runClaimed(context, job, new RestoreTracker(context, claimed.work), claimed.refusal);
  await admitRestores(context.platform);
}

async function runClaimed(
  context: RestoresContext,
  job: Job,
  tracker: RestoreTracker,
  refusal: Problem | undefined,
): Promise<void> {
  await runJob({
    platform: context.platform,
    job,
    record: { restoreId: tracker.row.id },
    check: (waitingFor) => tracker.check(waitingFor),
    work: async (signal) => {
      if (refusal) throw refusal;
      await restore(context, tracker, AbortSignal.any([signal, hardStop(tracker.cancelled)]));
    },
    countFailure: () => tracker.countFailure(),
    fail: async (reason) => {
      const isHeard = (await stopRanges(context, tracker)) && tracker.isHeard;
      const ending = tracker.cancelled.aborted ? cancelled : { error: toJobError(reason) };
      await endRestore(context, tracker.work, { ...ending, isHeard });
    },
  });
}

const cancelled: CancelledRestore = { cancelled: true };

/** Claims the restore for this worker. Undefined when it has ended, or was resumed after this job was enqueued. */
async function claim(
  context: RestoresContext,
  job: Job,
): Promise<{ work: RestoreWork; refusal: Problem | undefined } | undefined> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, restoreId } = job.data;
  return database.tenant(organizationId, async (transaction) => {
    const organization = await context.organizations.active(transaction, organizationId);
    const row = await restoreStore.findLocked(transaction, organizationId, restoreId);
    if (!organization || !row || admissionOf(row) !== (job.data.admission ?? 0)) return undefined;
    if (row.status !== 'pending' && row.status !== 'running') return undefined;
    const project = await projectStore.findKept(transaction, organizationId, row.projectId);
    const target = await projectStore.findKept(transaction, organizationId, row.targetProjectId);
    if (!project || !target) return undefined;
    const now = clock.now();
    const refusal = (await isAbandoned(transaction, row)) ? abandonedProblem(row) : undefined;
    const claimed = await restoreStore.claim(transaction, row, { startedAt: row.startedAt ?? now, updatedAt: now });
    const work = { row: claimed, project, target, organization: { id: organization.id, name: organization.name } };
    if (row.startedAt === null && !row.dryRun) await outbox.emit(transaction, restoreEvent('restore.started', work));
    return { work, refusal };
  });
}

async function restore(context: RestoresContext, tracker: RestoreTracker, signal: AbortSignal): Promise<void> {
  const { row, target } = tracker.work;
  await tracker.setPhase('Initializing');
  if (tracker.cancelled.aborted) return await endCancelled(context, tracker);
  const firestore = await context.sources.open(target);
  let source: RestoreSource | undefined;
  try {
    const beganAt = row.beganAt ?? (await firestore.source.snapshotTime({ signal }).catch(asRestoreError));
    // Edits that people make after this time are theirs, also when the restore fails and is resumed.
    if (row.beganAt === null && row.undoOf === null && !row.dryRun) await tracker.save({ beganAt });
    await tracker.setPhase('Downloading');
    if (row.undoOf !== null) return await runUndo(context, tracker, row.undoOf, firestore, signal);
    source = await openRestoreSource(context, row, signal);
    await tracker.setPhase('Decrypting');
    const scope = row.scope ?? (await scopeOfRestore(row, source, signal));
    await tracker.setPhase('Decompressing');
    const measured = await measureRestore(source.view, scope, row, {
      signal,
      documentsPerRange: context.platform.config.RESTORE_RANGE_DOCUMENTS,
    });
    await tracker.setPhase('Validating');
    await tracker.expect(measured);
    await requireIntact(source.readers, scope, signal);
    if (row.dryRun) return await finishDryRun(context, tracker, source, scope, firestore, signal);
    await tracker.save({ scope });
    await cutRanges(context, tracker, measured.borders);
    await tracker.useJournal(await journalSeal(context, row));
    const before = await makeSafetyBackup(context, tracker, { scope, measured, readFrom: source.readFrom }, signal);
    try {
      await tracker.beginWriting();
      const work = { context, tracker, firestore, scope, view: source.view, before: before?.view, signal };
      await writeDocuments(work);
    } finally {
      await before?.close();
    }
    if (tracker.cancelled.aborted) return await endCancelled(context, tracker);
    await tracker.setPhase('Finalizing');
    if (row.includeAuthUsers) await writeUsers(source, firestore, tracker, signal);
    if (tracker.cancelled.aborted) return await endCancelled(context, tracker);
    await endRestore(context, tracker.work, { users: tracker.userFailures });
  } finally {
    await source?.close();
    await firestore.close();
  }
}

/**
 * This run has waited for its own requests. What earlier runs left outside the journal stays unknown, in ranges too.
 */
async function endCancelled(context: RestoresContext, tracker: RestoreTracker): Promise<void> {
  const isHeard = (await stopRanges(context, tracker)) && !tracker.isContinued;
  await endRestore(context, tracker.work, { ...cancelled, isHeard });
}

function asRestoreError(error: unknown): never {
  if (isEngineError(error, 'SOURCE_AUTH_ERROR'))
    throw new EngineError('RESTORE_PERMISSION_DENIED', error.message, { cause: error, details: error.details });
  throw error;
}

async function finishDryRun(
  context: RestoresContext,
  tracker: RestoreTracker,
  source: RestoreSource,
  scope: Parameters<typeof previewRestore>[0]['scope'],
  firestore: ConnectedFirestore,
  signal: AbortSignal,
): Promise<void> {
  const { row } = tracker;
  const counts = await previewRestore({
    view: source.view,
    signal,
    source: firestore.source,
    readTime: await firestore.source.snapshotTime({ signal }),
    mode: row.mergeMode,
    deleteExtra: row.deleteExtra,
    ...(scope ? { scope } : {}),
  });
  const reasons = irreversibleReasons(row, {
    accounts: row.includeAuthUsers ? await countUsers(source, firestore, row, signal) : 0,
    overwritten: counts.replace + counts.merge + counts.delete,
  });
  const irreversible = reasons.reduce((sum, { count }) => sum + count, 0);
  for (const phase of ['Restoring', 'Finalizing'] as const) await tracker.setPhase(phase);
  await endRestore(context, tracker.work, { preview: { ...counts, irreversible }, reasons });
}

async function countUsers(
  { readers }: RestoreSource,
  firestore: ConnectedFirestore,
  row: RestoreRow,
  signal: AbortSignal,
): Promise<number> {
  const newest = readers.at(-1);
  const section = newest?.body.authUsers;
  if (!newest || !section) return 0;
  const { hashConfiguration } = section;
  return firestore.authUsers.countImportable(readUsers(newest, signal), {
    hashConfiguration,
    mode: accountMode(row),
    signal,
  });
}

/** Accounts are not merged field by field. */
function accountMode({ mergeMode }: RestoreRow): 'overwrite' | 'skip_existing' {
  return mergeMode === 'skip_existing' ? 'skip_existing' : 'overwrite';
}

async function writeUsers(
  { readers }: RestoreSource,
  firestore: ConnectedFirestore,
  tracker: RestoreTracker,
  signal: AbortSignal,
): Promise<void> {
  const newest = readers.at(-1);
  const section = newest?.body.authUsers;
  if (!newest || !section) return;
  const before = tracker.row.checkpoint.users ?? { settled: 0, imported: 0, refused: [] };
  const refusedNow = new Set(before.refused);
  const result = await firestore.authUsers.importUsers(readUsers(newest, signal), {
    hashConfiguration: section.hashConfiguration,
    mode: accountMode(tracker.row),
    settledBefore: { count: before.settled, again: new Set(before.refused), unheard: before.unheard },
    // If the worker dies before the answer, the accounts may be written all the same.
    onCall: async (unheard) => {
      const users = { ...(tracker.row.checkpoint.users ?? before), unheard };
      await tracker.reach({ ...tracker.row.checkpoint, users });
    },
    // A resume tries the refused accounts again and continues after the others: written accounts may have been changed
    // by people since.
    onSettled: async ({ settled, imported, tried, refused }) => {
      for (const localId of tried) refusedNow.delete(localId);
      for (const localId of refused) refusedNow.add(localId);
      const users = { settled, imported: before.imported + imported, refused: [...refusedNow] };
      await tracker.reach({ ...tracker.row.checkpoint, users });
    },
    signal,
    stop: tracker.cancelled,
  });
  tracker.userFailures = {
    failed: result.failed,
    errors: result.errors.map(({ localId, message }) => ({
      path: `auth users/${localId}`,
      code: 'AUTH_USER',
      message: oneLine(message, 2000),
    })),
  };
}
