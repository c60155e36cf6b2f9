import type { Module } from '../module.ts';
import { worker } from '../module.ts';
import type { StorageContext } from './context.ts';
import { checkStorageJob, storageTaskJob } from './jobs.ts';
import { recheckStorage, recheckTask } from './recheck-storage.ts';
import { storageHandlers } from './routes.ts';
import { runStorageTask } from './run-storage-task.job.ts';
import { requeueTask } from './task-admission.ts';

export { recordUse } from './check-storage.ts';
export type { OrphanObject, StorageDependents, TaskRun } from './context.ts';
export { copyDestination } from './copy-destination.ts';
export { storageJobs } from './jobs.ts';
export { isWithoutCredentials, StoreOpener } from './open-store.ts';
export { presentStorageSummary, type StorageUsage } from './present-storage.ts';
export { defaultsWork } from './recheck-storage.ts';
export { type DestinationRow, storageStore } from './storage-store.ts';
export type { TaskResult } from './tables.ts';
export { taskStore } from './task-store.ts';

const tasksAtOnce = 2;
const checksAtOnce = 4;

export function createStorageModule(context: StorageContext): Module {
  return {
    handlers: storageHandlers(context),
    workers: [
      worker(storageTaskJob, tasksAtOnce, (job) => runStorageTask(context, job)),
      worker(checkStorageJob, checksAtOnce, (job) => recheckStorage(context, job)),
    ],
    tasks: [recheckTask(context), requeueTask(context.platform)],
  };
}
