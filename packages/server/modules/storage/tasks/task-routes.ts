import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../../http/call.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { StorageContext } from '../context.ts';
import { presentTask } from '../present-storage.ts';
import { storageStore } from '../storage-store.ts';
import { startTask, type TaskOptions } from './start-task.ts';
import { type TaskRow, taskStore } from './task-store.ts';

/** Rescans, sweeps, purges and migrations. */
export function taskHandlers(context: StorageContext): Handlers {
  const { database, cursors } = context.platform;

  async function start(call: Caller, kind: TaskRow['kind'], destinationId: string, options?: TaskOptions) {
    const task = await startTask(context, call, kind, destinationId, options);
    return {
      data: presentTask(task),
      location: pathOf('getStorageTask', { storageDestinationId: destinationId, taskId: task.id }),
    };
  }

  return {
    rescanStorageDestination: (call) => start(call, 'rescan', call.params.storageDestinationId),
    sweepStorageDestination: (call) => start(call, 'sweep', call.params.storageDestinationId),
    migrateStorageDestination: (call) =>
      start(call, 'migrate', call.params.storageDestinationId, { toId: call.body.toStorageDestinationId }),
    purgeStorageDestination: (call) =>
      start(call, 'purge', call.params.storageDestinationId, { dryRun: call.body?.dryRun ?? false }),

    listStorageTasks: async ({ organization, params, query }) => {
      const { storageDestinationId } = params;
      const page = await cursors.page(
        { list: 'storage-tasks', filters: storageDestinationId, ...query },
        (limit, before) =>
          database.tenant(organization.id, async (transaction) => {
            await storageStore.get(transaction, organization.id, storageDestinationId);
            return taskStore.list(transaction, organization.id, storageDestinationId, limit, before);
          }),
      );
      return { data: page.rows.map(presentTask), nextCursor: page.nextCursor };
    },

    getStorageTask: async ({ organization, params }) => {
      const task = await database.tenant(organization.id, async (transaction) => {
        await storageStore.get(transaction, organization.id, params.storageDestinationId);
        return taskStore.find(transaction, organization.id, params.taskId);
      });
      if (!task || task.storageDestinationId !== params.storageDestinationId)
        throw new Problem('NOT_FOUND', 'There is no such task.');
      return { data: presentTask(task) };
    },
  };
}
