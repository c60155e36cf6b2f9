import { pathOf } from '@holdfast/contract';
import { type BlobStore, listGcsBuckets, listS3Buckets } from '@holdfast/engine';
import type { Handlers } from '../../http/call.ts';
import { pageOf } from '../../platform/cursor.ts';
import { Problem } from '../../platform/problem.ts';
import { toProblem } from '../job-error.ts';
import { withStore } from './access/with-store.ts';
import { createStorage, updateStorage } from './change-storage.ts';
import { checkStorage, recordCheck } from './checks/check-storage.ts';
import type { OrphanObject, StorageContext } from './context.ts';
import { deleteStorage, type KeysThere } from './delete-storage.ts';
import { presentStorage } from './present-storage.ts';
import { type DestinationRow, destinationEtag, storageStore } from './storage-store.ts';
import { taskHandlers } from './tasks/task-routes.ts';

const toldOfKeys: Readonly<Record<KeysThere, string>> = {
  removed: "The copies of the organization's keys in it are removed too; what else lies in it is left alone.",
  shared:
    "What lies in it is left alone, the copies of the organization's keys too: another destination is the same place.",
  needed:
    "What lies in it is left alone, the copies of the organization's keys under keys/ too: backups of a project that moved to another organization need them until that organization has given its destination credentials.",
  refused:
    "The copies of the organization's keys could not be removed, because a lock keeps them or a right is missing: they stay in it under keys/ until you remove them.",
  left: "It could not be reached: the copies of the organization's keys stay in it under keys/ until you remove them.",
};

/** A user waits in front of the form. */
const listTimeoutMs = 8000;

const orphansTimeoutMs = 15_000;
const listAttemptsMax = 4;

export function storageHandlers(context: StorageContext): Handlers {
  const { database, cursors, clock } = context.platform;

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

  return {
    ...taskHandlers(context),

    listStorageDestinations: async ({ organization, query }) => {
      const list = { list: 'storage', filters: organization.id, ...query };
      const page = await cursors.page(list, (limit, before) =>
        storageStore.page(database, organization.id, { limit, before }),
      );
      return { data: await present(organization.id, page.rows), nextCursor: page.nextCursor };
    },

    createStorageDestination: async (call) => {
      const row = await createStorage(context, call, call.body);
      return {
        ...(await answer(call.organization.id, row)),
        location: pathOf('getStorageDestination', { storageDestinationId: row.id }),
      };
    },

    getStorageDestination: async ({ organization, params }) =>
      answer(organization.id, await getRow(organization.id, params.storageDestinationId)),

    listStorageProjects: async ({ organization, params, query }) => {
      const row = await getRow(organization.id, params.storageDestinationId);
      const start = Number(cursors.read('storage projects', row.id, query.cursor) ?? 0);
      const place = { organizationId: organization.id, destinationId: row.id };
      const { projects, count } = await database.tenant(organization.id, (transaction) =>
        context.dependents.contents(transaction, place, { start, limit: query.limit }),
      );
      const end = start + query.limit;
      const nextCursor = end < count ? cursors.write('storage projects', row.id, String(end)) : null;
      return { data: projects, nextCursor };
    },

    updateStorageDestination: async (call) =>
      answer(call.organization.id, await updateStorage(context, call, call.params.storageDestinationId, call.body)),

    deleteStorageDestination: async (call) => {
      const keys = await deleteStorage(context, call, call.params.storageDestinationId);
      return { message: `The storage destination is removed. ${toldOfKeys[keys]}` };
    },

    testStorageDestination: async (call) => {
      const { organization, params } = call;
      const tested = await getRow(organization.id, params.storageDestinationId);
      const expected = await database.tenant(organization.id, (transaction) =>
        context.dependents.expectedBackups(transaction, organization.id, tested.id),
      );
      const check = await checkStorage(context.stores, tested, clock, { expected });
      await database.tenant(organization.id, async (transaction) => {
        const row = await storageStore.lock(transaction, organization.id, params.storageDestinationId);
        await recordCheck(context, transaction, row, check);
        await context.audit.noteCaller(transaction, call, {
          action: 'storage.tested',
          resource: { type: 'storage_destination', id: row.id },
          details: { ok: check.test.ok },
        });
      });
      return { data: check.test };
    },

    listBuckets: async ({ body, signal: gone }) => {
      const late = AbortSignal.timeout(listTimeoutMs);
      const options = { signal: AbortSignal.any([gone, late]), retry: { attemptsMax: 2 } };
      const endpoint = 'endpoint' in body ? body.endpoint : undefined;
      context.stores.checkEndpoint(endpoint);
      try {
        await context.stores.requireReachable(endpoint);
        const names =
          body.type === 'gcs'
            ? await listGcsBuckets(context.stores.gcsConnection(body.credentials), options)
            : await listS3Buckets(
                context.stores.s3Connection(
                  body.type,
                  { region: body.region ?? null, endpoint: body.endpoint ?? null, forcePathStyle: body.forcePathStyle },
                  body.credentials,
                ),
                options,
              );
        return { data: { buckets: names.slice(0, 1000).map((name) => ({ name, region: null, createdAt: null })) } };
      } catch (error) {
        if (late.aborted) throw new Problem('STORAGE_UNAVAILABLE', 'The storage did not answer in time.');
        throw toProblem(error);
      }
    },

    listOrphans: async ({ organization, params, query, signal }) => {
      const row = await getRow(organization.id, params.storageDestinationId);
      const after = cursors.read('orphans', row.id, query.cursor);
      const found: OrphanObject[] = [];
      const late = AbortSignal.timeout(orphansTimeoutMs);
      let isCutShort = false;
      try {
        const look = async (store: BlobStore) => {
          const options = { after, signal: AbortSignal.any([signal, late]) };
          for await (const orphan of context.dependents.orphans(organization.id, row, store, options)) {
            found.push(orphan);
            if (found.length > query.limit) break;
          }
        };
        await withStore(context.stores, row, look, { attemptsMax: listAttemptsMax });
      } catch (error) {
        if (!late.aborted || signal.aborted) throw toProblem(error);
        // Returns what was found so far, and where to continue.
        if (found.length < 2)
          throw new Problem(
            'STORAGE_UNAVAILABLE',
            'The storage could not be gone through in time; a sweep takes its time.',
          );
        isCutShort = true;
      }
      const limit = isCutShort ? found.length - 1 : query.limit;
      const page = pageOf(found, limit, (orphan) => cursors.write('orphans', row.id, orphan.key));
      return {
        data: page.rows.map(({ key, bytes, lastModified }) => ({
          key,
          bytes,
          lastModified: lastModified.toISOString(),
        })),
        nextCursor: page.nextCursor,
      };
    },
  };
}
