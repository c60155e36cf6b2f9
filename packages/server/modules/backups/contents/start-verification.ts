import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { Queue } from '../../../platform/queue.ts';
import { admissionOf, admit, type JobKind, type JobRecord, jobKey } from '../../jobs/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { verifyBackupJob } from '../jobs.ts';
import { verificationAdmission } from './verification-store.ts';

/** Requests a verification, unless one is waiting or running. */
export async function startVerification(context: BackupsContext, caller: Caller, backupId: string): Promise<void> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (row.status !== 'completed')
      throw new Problem(
        'INVALID_STATE',
        `Only a completed backup can be verified; the status of this one is ${row.status}.`,
        {
          details: { status: row.status },
        },
      );
    if (row.verification?.status !== 'running')
      await requestVerification(context, transaction, organizationId, backupId);
    const note = {
      action: 'backup.verification_started' as const,
      resource: { type: 'backup', id: backupId },
      details: { projectId: row.projectId },
    };
    await context.audit.noteCaller(transaction, caller, note);
  });
  await admitVerifications(context.platform);
}

/** Requests a verification as part of the caller's transaction. */
export async function requestVerification(
  { platform }: Pick<BackupsContext, 'platform'>,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
): Promise<void> {
  await backupStore.update(transaction, organizationId, backupId, {
    verification: { status: 'running', segments: 0, documents: 0, errors: [] },
    verificationAdmittedAt: null,
    verificationFailures: 0,
    updatedAt: platform.clock.now(),
  });
}

/** Requests a verification of a backup that did not read well, unless one is waiting or running. */
export async function verifyAgain(
  context: Pick<BackupsContext, 'platform'>,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
): Promise<void> {
  const row = await backupStore.findLocked(transaction, organizationId, backupId);
  if (row?.status !== 'completed' || row.deletedAt || row.verification?.status === 'running') return;
  await requestVerification(context, transaction, organizationId, backupId);
}

/** Admits waiting verifications. */
export async function admitVerifications(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return admit(platform, verificationKind(platform.queue));
}

export function verificationKind(queue: Queue): JobKind<JobRecord> {
  return {
    name: 'verifications',
    table: verificationAdmission,
    enqueue: async (transaction, record, priority) => {
      const { organizationId, id: backupId } = record;
      const data = { organizationId, backupId, admission: admissionOf(record) };
      await queue.enqueue(transaction, verifyBackupJob, data, { key: jobKey(record), priority });
    },
  };
}
