import { secondMs } from '../../../platform/durations.ts';
import type { PeriodicTask } from '../../../platform/periodic.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Queue } from '../../../platform/queue.ts';
import { admissionOf, admit, type JobKind, type JobRecord, jobKey, requeueLostWork } from '../../jobs/index.ts';
import { storageTaskJob } from '../jobs.ts';
import { taskAdmission } from './task-store.ts';

const requeueEveryMs = 5 * secondMs;

/** Admits waiting tasks. */
export async function admitTasks(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return admit(platform, taskKind(platform.queue));
}

export function taskKind(queue: Queue): JobKind<JobRecord> {
  return {
    name: 'storage tasks',
    table: taskAdmission,
    enqueue: async (transaction, record, priority) => {
      const { organizationId, id: taskId } = record;
      const data = { organizationId, taskId, admission: admissionOf(record) };
      await queue.enqueue(transaction, storageTaskJob, data, { key: jobKey(record), priority });
    },
  };
}

export function requeueTask(platform: Platform): PeriodicTask {
  return {
    name: 'requeue lost storage tasks',
    everyMs: requeueEveryMs,
    run: async () => {
      await admitTasks(platform);
      await requeueLostWork(platform, taskKind(platform.queue));
    },
  };
}
