import { postponable } from '../jobs/index.ts';
import type { Module } from '../module.ts';
import { worker } from '../module.ts';
import { recheckStorage, recheckTask } from './checks/recheck-storage.ts';
import type { StorageContext } from './context.ts';
import { checkStorageJob, storageTaskJob } from './jobs.ts';
import { storageHandlers } from './routes.ts';
import { runStorageTask } from './tasks/run-storage-task.job.ts';
import { requeueTask } from './tasks/task-admission.ts';

export { isWithoutCredentials, StoreOpener, withResealed } from './access/open-store.ts';
export { SamePlaces } from './access/places.ts';
export { putAndReadBack, putIfDifferent } from './access/put-if-different.ts';
export { withStore } from './access/with-store.ts';
export { recordUse } from './checks/check-storage.ts';
export { defaultsWork } from './checks/recheck-storage.ts';
export type { ExpectedBackup, OrphanObject, StorageDependents, TaskRun, UsedBy } from './context.ts';
export { copyDestination } from './copy-destination.ts';
export { storageJobs } from './jobs.ts';
export {
  presentStorageSummary,
  type StorageContents,
  type StoragePlace,
  type StorageProject,
  type StorageUsage,
} from './present-storage.ts';
export {
  type DestinationRow,
  type OpenableDestination,
  storageStore,
  storageSummarySql,
} from './storage-store.ts';
export type { TaskResult } from './tables.ts';
export { requestRescan } from './tasks/request-rescan.ts';
export { Sweep } from './tasks/sweep.ts';
export { admitTasks, taskKind } from './tasks/task-admission.ts';
export { taskStore } from './tasks/task-store.ts';

const tasksAtOnce = 2;
const checksAtOnce = 4;

export function createStorageModule(context: StorageContext): Module {
  return {
    handlers: storageHandlers(context),
    workers: [
      worker(storageTaskJob, tasksAtOnce, (job) => runStorageTask(context, job)),
      worker(
        checkStorageJob,
        checksAtOnce,
        postponable(context.platform.log, (job) => recheckStorage(context, job)),
      ),
    ],
    tasks: [recheckTask(context), requeueTask(context.platform)],
  };
}
