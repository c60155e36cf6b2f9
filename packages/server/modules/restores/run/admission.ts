import type { Platform } from '../../../platform/platform.ts';
import type { Queue } from '../../../platform/queue.ts';
import { admissionOf, admit, type JobKind, type JobRecord, jobKey } from '../../jobs/index.ts';
import { runRestoreJob } from '../jobs.ts';
import { restoreAdmission } from '../restore-store.ts';

/** Admits waiting restores: one at a time per target project. */
export async function admitRestores(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return admit(platform, restoreKind(platform.queue));
}

export function restoreKind(queue: Queue): JobKind<JobRecord> {
  return {
    name: 'restores',
    table: restoreAdmission,
    enqueue: async (transaction, record, priority) => {
      const { organizationId, id: restoreId } = record;
      const data = { organizationId, restoreId, admission: admissionOf(record) };
      await queue.enqueue(transaction, runRestoreJob, data, { key: jobKey(record), priority });
    },
  };
}
