import { listGcsBuckets, listS3Buckets } from '@holdfast/engine';
import type { Handlers } from '../../http/call.ts';
import { pageOf } from '../../platform/cursor.ts';
import type { Transaction } from '../../platform/database/database.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { toProblem } from '../job-error.ts';
import { type Caller, createStorage, deleteStorage, note, updateStorage } from './change-storage.ts';
import { checkStorage, recordCheck } from './check-storage.ts';
import type { OrphanObject, StorageContext } from './context.ts';
import { presentStorage, presentTask } from './present-storage.ts';
import { type DestinationRow, destinationEtag, storageStore, type TaskRow } from './storage-store.ts';
import { storageTaskJob } from './storage-task.ts';

export function storageHandlers(context: StorageContext): Handlers {
  const { database, cursors, queue, clock, ids } = context.platform;

  const getRow = (organizationId: string, id: string) =>
    database.tenant(organizationId, (transaction) => storageStore.get(transaction, organizationId, id));

  async function present(organizationId: string, rows: readonly DestinationRow[]) {
    if (rows.length === 0) return [];
    return database.tenant(organizationId, async (transaction) => {
      const defaultId = await context.defaults.get(transaction, organizationId);
      const usage = await context.dependents.usage(
        transaction,
        organizationId,
        rows.map((row) => row.id),
      );
      return rows.map((row) => presentStorage(row, defaultId, usage.get(row.id)));
    });
  }

  async function answer(organizationId: string, row: DestinationRow) {
    const [data] = await present(organizationId, [row]);
    return { data: data as NonNullable<typeof data>, etag: destinationEtag(row) };
  }

  /** A migration has both destinations to itself. */
  async function requireIdle(transaction: Transaction, organizationId: string, destinationIds: readonly string[]) {
    const usedBy: { type: string; id: string }[] = [];
    for (const id of destinationIds) {
      const tasks = await storageStore.runningTasks(transaction, organizationId, id);
      usedBy.push(...tasks.map((task) => ({ type: 'storage_task', id: task.id })));
      usedBy.push(...(await context.dependents.workOn(transaction, organizationId, id)));
    }
    if (usedBy.length > 0)
      throw new Problem('RESOURCE_IN_USE', 'Something works on these destinations; wait for it or cancel it.', {
        details: { usedBy: usedBy.slice(0, 100) },
      });
  }

  /** Enqueued in the transaction that makes the task: no task without its job. */
  async function startTask(
    call: Omit<Caller, 'requireMatch'>,
    destinationId: string,
    kind: TaskRow['kind'],
    toId?: string,
  ) {
    const organizationId = call.organization.id;
    const task = await database.tenant(organizationId, async (transaction) => {
      const row = await storageStore.get(transaction, organizationId, destinationId);
      if (toId !== undefined) {
        requireTarget(await storageStore.get(transaction, organizationId, toId), row);
        await requireIdle(transaction, organizationId, [destinationId, toId]);
      }
      const progress = { percent: 0, phase: 'Waiting', documents: 0, bytes: 0, etaSeconds: null };
      const inserted = await storageStore.insertTask(transaction, {
        id: ids.next('tsk'),
        organizationId,
        storageDestinationId: destinationId,
        kind,
        status: 'pending',
        progress,
        toStorageDestinationId: toId ?? null,
        createdAt: clock.now(),
      });
      await queue.enqueue(transaction, storageTaskJob, { organizationId, taskId: inserted.id });
      await note(context, transaction, call, `storage.${kind}_started`, destinationId, {
        taskId: inserted.id,
        ...(toId ? { to: toId } : {}),
      });
      return inserted;
    });
    return { data: presentTask(task), location: `/api/v1/storage-destinations/${destinationId}/tasks/${task.id}` };
  }

  return {
    listStorageDestinations: async ({ organization, query }) => {
      const before = cursors.read('storage', organization.id, query.cursor);
      const rows = await storageStore.page(database, organization.id, { limit: query.limit + 1, before });
      const page = pageOf(rows, query.limit, (row) => cursors.write('storage', organization.id, row.id));
      return { data: await present(organization.id, page.rows), nextCursor: page.nextCursor };
    },

    createStorageDestination: async (call) => {
      const row = await createStorage(context, call, call.body);
      return { ...(await answer(call.organization.id, row)), location: `/api/v1/storage-destinations/${row.id}` };
    },

    getStorageDestination: async ({ organization, params }) =>
      answer(organization.id, await getRow(organization.id, params.storageDestinationId)),

    updateStorageDestination: async (call) =>
      answer(call.organization.id, await updateStorage(context, call, call.params.storageDestinationId, call.body)),

    deleteStorageDestination: async (call) => {
      await deleteStorage(context, call, call.params.storageDestinationId);
      return { message: 'The storage destination is removed. What lies in it is left alone.' };
    },

    testStorageDestination: async (call) => {
      const { organization, params } = call;
      const check = await checkStorage(
        context.stores,
        await getRow(organization.id, params.storageDestinationId),
        clock,
      );
      await database.tenant(organization.id, async (transaction) => {
        const row = await storageStore.lock(transaction, organization.id, params.storageDestinationId);
        await recordCheck(context, transaction, row, check);
        await note(context, transaction, call, 'storage.tested', row.id, { ok: check.test.ok });
      });
      return { data: check.test };
    },

    listBuckets: async ({ body, signal }) => {
      const endpoint = 'endpoint' in body ? body.endpoint : undefined;
      context.stores.checkEndpoint(endpoint);
      try {
        await context.stores.requireReachable(endpoint);
        const names =
          body.type === 'gcs'
            ? await listGcsBuckets(context.stores.gcsConnection(null, body.credentials), { signal })
            : await listS3Buckets(
                context.stores.s3Connection(
                  body.type,
                  { region: body.region ?? null, endpoint: body.endpoint ?? null, forcePathStyle: body.forcePathStyle },
                  body.credentials,
                ),
                { signal, retry: { attemptsMax: 2 } },
              );
        return { data: { buckets: names.slice(0, 1000).map((name) => ({ name, region: null, createdAt: null })) } };
      } catch (error) {
        throw toProblem(error);
      }
    },

    rescanStorageDestination: (call) => startTask(call, call.params.storageDestinationId, 'rescan'),
    sweepStorageDestination: (call) => startTask(call, call.params.storageDestinationId, 'sweep'),
    migrateStorageDestination: (call) =>
      startTask(call, call.params.storageDestinationId, 'migrate', call.body.toStorageDestinationId),

    listOrphans: async ({ organization, params, query, signal }) => {
      const row = await getRow(organization.id, params.storageDestinationId);
      const after = cursors.read('orphans', row.id, query.cursor);
      const found: OrphanObject[] = [];
      try {
        const store = await context.stores.open(row);
        try {
          for await (const orphan of context.dependents.orphans(organization.id, row, store, { after, signal })) {
            found.push(orphan);
            if (found.length > query.limit) break;
          }
        } finally {
          await store.close();
        }
      } catch (error) {
        throw toProblem(error);
      }
      const page = pageOf(found, query.limit, (orphan) => cursors.write('orphans', row.id, orphan.key));
      return {
        data: page.rows.map(({ key, bytes, lastModified }) => ({
          key,
          bytes,
          lastModified: lastModified.toISOString(),
        })),
        nextCursor: page.nextCursor,
      };
    },

    listStorageTasks: async ({ organization, params, query }) => {
      const before = cursors.read('storage-tasks', params.storageDestinationId, query.cursor);
      const rows = await database.tenant(organization.id, async (transaction) => {
        await storageStore.get(transaction, organization.id, params.storageDestinationId);
        return storageStore.listTasks(
          transaction,
          organization.id,
          params.storageDestinationId,
          query.limit + 1,
          before,
        );
      });
      const page = pageOf(rows, query.limit, (row) =>
        cursors.write('storage-tasks', params.storageDestinationId, row.id),
      );
      return { data: page.rows.map(presentTask), nextCursor: page.nextCursor };
    },

    getStorageTask: async ({ organization, params }) => {
      const task = await database.tenant(organization.id, async (transaction) => {
        await storageStore.get(transaction, organization.id, params.storageDestinationId);
        return storageStore.findTask(transaction, organization.id, params.taskId);
      });
      if (!task || task.storageDestinationId !== params.storageDestinationId)
        throw new Problem('NOT_FOUND', 'There is no such task.');
      return { data: presentTask(task) };
    },
  };
}

function requireTarget(target: DestinationRow, from: DestinationRow): void {
  if (target.id === from.id) throw invalid('toStorageDestinationId', 'must be another destination');
  if (target.status !== 'connected') throw invalid('toStorageDestinationId', 'does not work at present; test it first');
}
