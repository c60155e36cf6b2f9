import { timeOfStore } from '@holdfast/engine';
import { requireClockAgreesWith, requireClocksAgree } from '../../../platform/clock-agreement.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { admissionOf, runJob, Superseded, stallAfterMs } from '../../jobs/index.ts';
import { withStore } from '../access/with-store.ts';
import type { StorageContext, TaskRun, UsedBy } from '../context.ts';
import { type DestinationRow, storageStore } from '../storage-store.ts';
import type { TaskResult } from '../tables.ts';
import { admitTasks } from './task-admission.ts';
import { type TaskRow, taskStore } from './task-store.ts';

const usersMax = 100;

type Job = RunningJob<{ organizationId: string; taskId: string; admission?: number | undefined }>;
type Change = Parameters<typeof taskStore.update>[3];

/** Runs one task from its beginning. What an earlier attempt has done is found done. */
export async function runStorageTask(context: StorageContext, job: Job): Promise<void> {
  const { platform } = context;
  const { database, clock } = platform;
  const { organizationId, taskId } = job.data;
  const task = await change(context, job, { status: 'running' });
  if (!task) return;
  await runJob({
    platform,
    job,
    stallAfterMs,
    record: { taskId },
    work: async (signal, watch) => {
      const destination = await database.tenant(organizationId, (transaction) =>
        storageStore.get(transaction, organizationId, task.storageDestinationId),
      );
      const onProgress: TaskRun['onProgress'] = async (percent, phase, bytes, result) => {
        watch.beat();
        const progress = progressOf(percent, phase, bytes);
        if (!(await change(context, job, { progress, ...(result ? { result } : {}) })))
          throw new Superseded('the task has ended or moved to another worker');
      };
      const result = await perform(context, { task, destination, signal, onProgress });
      const progress = progressOf(100, 'Completed', result.bytes ?? 0);
      await change(context, job, { status: 'completed', result, progress, completedAt: clock.now() });
    },
    countFailure: () =>
      database.tenant(organizationId, (transaction) => taskStore.countFailure(transaction, organizationId, taskId)),
    fail: async (reason) => {
      await change(context, job, { status: 'failed', error: toJobError(reason), completedAt: clock.now() });
    },
  });
  await admitTasks(platform);
}

/** Undefined, and nothing is changed, once the task has ended or was admitted again. */
async function change(context: StorageContext, { data }: Job, fields: Change): Promise<TaskRow | undefined> {
  const { organizationId, taskId, admission = 0 } = data;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const task = await taskStore.findLocked(transaction, organizationId, taskId);
    if (!task || (task.status !== 'pending' && task.status !== 'running') || admissionOf(task) !== admission)
      return undefined;
    await taskStore.update(transaction, organizationId, taskId, fields);
    return task;
  });
}

function progressOf(percent: number, phase: string, bytes: number): TaskRow['progress'] {
  return { percent, phase, documents: 0, bytes, etaSeconds: null };
}

async function perform(context: StorageContext, run: TaskRun): Promise<TaskResult> {
  const { kind } = run.task;
  if (kind === 'sweep') await requireSameTimes(context, run);
  const result = await context.dependents[kind](run);
  return kind === 'migrate' ? { ...result, stillUsedBy: await stillUsedBy(context, run.destination) } : result;
}

/** A sweep removes what is old by the storage's times, so the storage's clock is compared as well as the database's. */
async function requireSameTimes({ platform, stores }: StorageContext, { destination, signal }: TaskRun): Promise<void> {
  await requireClocksAgree(platform.clock, platform.database);
  await withStore(stores, destination, async (store) =>
    requireClockAgreesWith(platform.clock, await timeOfStore(store, { signal }), store.location),
  );
}

/** Everything there has moved, but these still write there until somebody gives them another destination. */
async function stillUsedBy(
  { platform, dependents, defaults }: StorageContext,
  { organizationId, id }: DestinationRow,
): Promise<UsedBy[]> {
  return platform.database.tenant(organizationId, async (transaction) => {
    const users = await dependents.users(transaction, organizationId, id);
    const isDefault = (await defaults.get(transaction, organizationId)) === id;
    return [...(isDefault ? [{ type: 'organization', id: organizationId }] : []), ...users].slice(0, usersMax);
  });
}
