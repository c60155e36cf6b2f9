import type { JobErrorCode } from '@holdfast/contract';
import { isEngineError, openChain, verifyChain, viewOfChain } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { systemActor } from '../../audit/index.ts';
import { toJobError } from '../../job-error.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { loadBackup, openReadable } from '../load-backup.ts';
import { mayPass } from '../run/end-backup.ts';
import type { StoredVerification } from '../tables.ts';

/** Reads every copy of the whole chain again: each segment opened, hashed and counted. */
export async function runVerification(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; backupId: string }>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, backupId } = job.data;
  const loaded = await database.tenant(organizationId, (transaction) =>
    loadBackup(context, transaction, organizationId, backupId),
  );
  if (loaded?.row.status !== 'completed' || loaded.row.deletedAt) return;
  const result: StoredVerification = { status: 'passed', segments: 0, documents: 0, errors: [] };
  for (const copy of loaded.copies.filter(({ status }) => status === 'completed')) {
    try {
      await verifyCopy(
        context,
        organizationId,
        backupId,
        { copies: [copy], destinations: loaded.destinations },
        result,
        job.signal,
      );
    } catch (error) {
      if (job.signal.aborted || (mayPass(error) && job.attempt < context.platform.config.JOB_ATTEMPTS)) throw error;
      if (!isEngineError(error) && !(error instanceof Problem)) throw error;
      const { code, message } = toJobError(error);
      result.errors.push({ code: code as JobErrorCode, message, object: null });
    }
  }
  result.status = result.errors.length === 0 ? 'passed' : 'failed';
  await database.tenant(organizationId, async (transaction) => {
    const now = clock.now();
    const row = await backupStore.update(transaction, organizationId, backupId, {
      verification: { ...result, errors: result.errors.slice(0, 100) },
      updatedAt: now,
      ...(result.status === 'passed' ? { verifiedAt: now } : {}),
    });
    if (result.status === 'failed') await context.onUnproven(transaction, { ...loaded, row }, 'verification_failed');
    else await context.onProven(transaction, row);
    await context.audit.write(transaction, {
      organizationId,
      action: 'backup.verified',
      actor: systemActor,
      resource: { type: 'backup', id: backupId },
      origin: null,
      details: {
        status: result.status,
        segments: result.segments,
        documents: result.documents,
        errors: result.errors.length,
      },
    });
  });
}

async function verifyCopy(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  readable: Parameters<typeof openReadable>[1],
  result: StoredVerification,
  signal: AbortSignal,
): Promise<void> {
  const keys = await BackupKeyRing.load(context, organizationId);
  const { store } = await openReadable(context, readable);
  try {
    const chain = await openChain({ store, backupId, keys, codec: context.engine.codec, signal });
    const verified = await verifyChain(chain, viewOfChain(chain), { signal });
    result.segments += verified.segments;
    result.documents = Math.max(result.documents, verified.documents);
    result.errors.push(
      ...verified.errors.map(({ backupId, segment, message }) => ({
        code: 'INTEGRITY_ERROR' as const,
        message: message.slice(0, 2000),
        object: segment ? `${backupId}/${segment}` : backupId,
      })),
    );
  } finally {
    await store.close();
  }
}
