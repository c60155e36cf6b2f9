import type { JobErrorCode } from '@holdfast/contract';
import { isEngineError, openChain, verifyChain, viewOfChain } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { admissionOf, isTransient, type JobWatch, runJob, Superseded, stallAfterMs } from '../../jobs/index.ts';
import { type BackupRow, backupStore, type CopyRow } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import type { BackupJobData } from '../jobs.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, loadBackup, openReadable } from '../load-backup.ts';
import type { StoredFault, StoredVerification } from '../tables.ts';
import { checkManifestKeys } from './check-manifest-keys.ts';
import { asDamage, copyLockName } from './open-chain.ts';
import { admitVerifications } from './start-verification.ts';
import { countVerificationFailure, foundDamage } from './verification-store.ts';

const errorLengthMax = 2000;
const errorsMax = 100;

/** Reads every copy of the whole chain again: each segment opened, hashed and counted. */
export async function runVerification(context: BackupsContext, job: RunningJob<BackupJobData>): Promise<void> {
  const { platform } = context;
  const { organizationId, backupId } = job.data;
  const loaded = await platform.database.tenant(organizationId, (transaction) =>
    loadBackup(context, transaction, organizationId, backupId),
  );
  if (!loaded || !isWanted(loaded.row, job)) return;
  const end = (result: StoredVerification) => endVerification(context, job, result);
  await runJob({
    platform,
    job,
    stallAfterMs,
    record: { backupId },
    check: () => stopReason(context, job),
    work: async (signal, watch) => end(await verifyCopies(context, loaded, signal, watch)),
    countFailure: () =>
      platform.database.tenant(organizationId, (transaction) =>
        countVerificationFailure(transaction, organizationId, backupId),
      ),
    fail: (reason) => end({ status: 'failed', segments: 0, documents: 0, errors: [toFinding(reason)] }),
  });
  await admitVerifications(platform);
}

/** Whether the verification is still wanted, and from this job. */
function isWanted(row: BackupRow, { data }: RunningJob<BackupJobData>): boolean {
  const isAsked = row.status === 'completed' && !row.deletedAt && row.verification?.status === 'running';
  return isAsked && admissionOf({ admittedAt: row.verificationAdmittedAt }) === (data.admission ?? 0);
}

async function stopReason(context: BackupsContext, job: RunningJob<BackupJobData>): Promise<Error | undefined> {
  const { organizationId, backupId } = job.data;
  const row = await context.platform.database.tenant(organizationId, (transaction) =>
    backupStore.find(transaction, organizationId, backupId),
  );
  return row && isWanted(row, job) ? undefined : new Superseded('the verification is no longer wanted');
}

function toFinding(error: unknown): StoredFault {
  const { code, message } = toJobError(error);
  return { code: code as JobErrorCode, message, object: null };
}

/**
 * Damage in one copy is an error in the result; a transient error is left to another attempt. Copies may be moved while
 * others are read. So the copies are loaded again before each one, and findings in a copy that was moved away are
 * dropped.
 */
async function verifyCopies(
  context: BackupsContext,
  loaded: LoadedBackup,
  signal: AbortSignal,
  watch: JobWatch,
): Promise<StoredVerification> {
  const { organizationId, id } = loaded.row;
  const result: StoredVerification = { status: 'passed', segments: 0, documents: 0, errors: [] };
  const looked = new Set<string>();
  let isAnywhere = false;
  for (let present: LoadedBackup | undefined = loaded; present; ) {
    const copies = present.copies.filter(({ status }) => status === 'completed');
    const copy = copies.find(({ storageDestinationId }) => !looked.has(storageDestinationId));
    if (!copy) break;
    looked.add(copy.storageDestinationId);
    const findings = await findingsIn(context, present, copy, result, signal, watch);
    const { destinations }: LoadedBackup = present;
    present = await context.platform.database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, id),
    );
    if (!present?.copies.some((one) => isCompletedIn(one, copy.storageDestinationId))) continue;
    isAnywhere = true;
    // With several copies, the message names the destination.
    const name = copies.length > 1 ? destinations.get(copy.storageDestinationId)?.name : undefined;
    const where = name === undefined ? '' : `In ${name}: `;
    result.errors.push(
      ...findings.map((one) => ({ ...one, message: `${where}${one.message}`.slice(0, errorLengthMax) })),
    );
  }
  if (!isAnywhere)
    result.errors.push(toFinding(new Problem('INTEGRITY_ERROR', 'No destination holds this backup any longer.')));
  return { ...result, status: result.errors.length === 0 ? 'passed' : 'failed' };
}

function isCompletedIn({ status, storageDestinationId }: CopyRow, destinationId: string): boolean {
  return status === 'completed' && storageDestinationId === destinationId;
}

async function findingsIn(
  context: BackupsContext,
  loaded: LoadedBackup,
  copy: CopyRow,
  result: StoredVerification,
  signal: AbortSignal,
  watch: JobWatch,
): Promise<StoredFault[]> {
  try {
    return await verifyCopy(context, loaded, copy, result, signal, watch);
  } catch (error) {
    const isFinding = (isEngineError(error) || error instanceof Problem) && !isTransient(error);
    if (signal.aborted || !isFinding) throw error;
    return [toFinding(asDamage(error, loaded.row.id))];
  }
}

async function verifyCopy(
  context: BackupsContext,
  { row, destinations }: LoadedBackup,
  copy: CopyRow,
  result: StoredVerification,
  signal: AbortSignal,
  watch: JobWatch,
): Promise<StoredFault[]> {
  const { useLocks } = context.platform.database;
  const hold = (ids: readonly string[]) => useLocks.hold(ids.map((id) => copyLockName(id, copy.storageDestinationId)));
  const keys = await BackupKeyRing.load(context, row.organizationId);
  const { store } = await openReadable(context, { copies: [copy], destinations });
  const uses: (() => Promise<unknown>)[] = [];
  try {
    // A migration removes no copy while somebody reads it.
    uses.push(await hold([row.id]));
    const chain = await openChain({ store, backupId: row.id, keys, codec: context.engine.codec, signal });
    if (chain.length > 1) uses.push(await hold(chain.slice(0, -1).map(({ backupId }) => backupId)));
    const unopened = await checkManifestKeys(context, row.organizationId, store, chain, signal);
    const verified = await verifyChain(chain, viewOfChain(chain), { signal, onProgress: () => watch.beat() });
    result.segments += verified.segments;
    result.documents = Math.max(result.documents, verified.documents);
    const damaged = verified.errors.map(({ backupId, segment, message }) => ({
      code: 'INTEGRITY_ERROR' as const,
      message,
      object: segment ? `${backupId}/${segment}` : backupId,
    }));
    return [...unopened, ...damaged];
  } finally {
    await Promise.all(uses.map((release) => release()));
    await store.close();
  }
}

async function endVerification(
  context: BackupsContext,
  job: RunningJob<BackupJobData>,
  result: StoredVerification,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, backupId } = job.data;
  await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.findLocked(transaction, organizationId, backupId);
    if (!row || !isWanted(row, job)) return;
    const now = clock.now();
    const verified = await backupStore.update(transaction, organizationId, backupId, {
      verification: { ...result, errors: result.errors.slice(0, errorsMax) },
      updatedAt: now,
      ...(result.status === 'passed' ? { verifiedAt: now } : {}),
    });
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (result.status === 'passed') await context.onFreed(transaction, verified);
    else if (loaded && foundDamage(result)) await context.onUnproven(transaction, loaded, 'verification_failed');
    const { status, segments, documents, errors } = result;
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'backup.verified',
      resource: { type: 'backup', id: backupId },
      details: { projectId: verified.projectId, status, segments, documents, errors: errors.length },
    });
  });
}
