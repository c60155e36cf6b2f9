import type { Platform } from '../../../platform/platform.ts';
import type { Queue } from '../../../platform/queue.ts';
import { admissionOf, admit, type JobKind, type JobRecord, jobKey } from '../../jobs/index.ts';
import { runDrillJob } from '../jobs.ts';
import { drillAdmission } from './drill-store.ts';

/** Admits waiting drills: one at a time per named target. */
export async function admitDrills(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return admit(platform, drillKind(platform.queue));
}

export function drillKind(queue: Queue): JobKind<JobRecord> {
  return {
    name: 'drills',
    table: drillAdmission,
    enqueue: async (transaction, record, priority) => {
      const { organizationId, id: drillId } = record;
      const data = { organizationId, drillId, admission: admissionOf(record) };
      await queue.enqueue(transaction, runDrillJob, data, { key: jobKey(record), priority });
    },
  };
}
