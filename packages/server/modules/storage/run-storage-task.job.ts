import { EngineError } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';
import type { RunningJob } from '../../platform/queue.ts';
import { toJobError } from '../job-error.ts';
import type { StorageContext, TaskRun } from './context.ts';
import { storageStore, type TaskRow } from './storage-store.ts';
import type { TaskResult } from './tables.ts';

/** Works one task. What may pass lets the queue try again, a few times; the rest ends the task as failed. */
export async function runStorageTask(
  context: StorageContext,
  job: RunningJob<{ organizationId: string; taskId: string }>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, taskId } = job.data;
  const change = (fields: Parameters<typeof storageStore.updateTask>[3]) =>
    database.tenant(organizationId, (transaction) =>
      storageStore.updateTask(transaction, organizationId, taskId, fields),
    );
  const start = await database.tenant(organizationId, async (transaction) => {
    const task = await storageStore.findTask(transaction, organizationId, taskId);
    if (!task || (task.status !== 'pending' && task.status !== 'running')) return undefined;
    const destination = await storageStore.find(transaction, organizationId, task.storageDestinationId);
    if (destination) await storageStore.updateTask(transaction, organizationId, taskId, { status: 'running' });
    return destination ? { task, destination } : undefined;
  });
  if (!start) return;
  const run: TaskRun = {
    ...start,
    signal: job.signal,
    onProgress: (percent, phase, bytes) =>
      change({ progress: { percent, phase, documents: 0, bytes, etaSeconds: null } }),
  };
  try {
    const result = await perform(context, start.task, run);
    const progress = { percent: 100, phase: 'Completed', documents: 0, bytes: result.bytes ?? 0, etaSeconds: null };
    await change({ status: 'completed', result, progress, completedAt: clock.now() });
  } catch (error) {
    const { JOB_ATTEMPTS: attemptsMax } = context.platform.config;
    if (job.signal.aborted || (mayPass(error) && job.attempt < attemptsMax)) throw error;
    context.platform.log.error({ err: error, taskId }, 'a storage task failed');
    await change({ status: 'failed', error: toJobError(error), completedAt: clock.now() });
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof EngineError ? error.retryable : !(error instanceof Problem);
}

function perform(context: StorageContext, task: TaskRow, run: TaskRun): Promise<TaskResult> {
  const { dependents } = context;
  if (task.kind === 'rescan') return dependents.rescan(run);
  return task.kind === 'sweep' ? dependents.sweep(run) : dependents.migrate(run);
}
