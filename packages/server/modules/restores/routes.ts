import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../http/call.ts';
import { withInstants } from '../../platform/cursor.ts';
import { placeOf } from '../../platform/database/pages.ts';
import { backupStore } from '../backups/index.ts';
import { followJob } from '../jobs/index.ts';
import { cancelRestore, resumeRestore } from './change-restore.ts';
import type { RestoresContext } from './context.ts';
import { drillStore } from './drills/drill-store.ts';
import { startDrill } from './drills/start-drill.ts';
import { presentDrill, presentRestore, presentRestoreProgress } from './present-restore.ts';
import { restoreEtag, restoreStore } from './restore-store.ts';
import { startRestore } from './start-restore.ts';
import { undoRestore } from './undo-restore.ts';

export function restoreHandlers(context: RestoresContext): Handlers {
  const { database, cursors } = context.platform;
  const read = (organizationId: string, id: string) =>
    database.tenant(organizationId, (transaction) => restoreStore.get(transaction, organizationId, id));

  async function answer(organizationId: string, id: string) {
    const row = await read(organizationId, id);
    return { data: presentRestore(row), etag: restoreEtag(row), location: pathOf('getRestore', { restoreJobId: id }) };
  }

  return {
    startRestore: async (call) => answer(call.organization.id, (await startRestore(context, call, call.body)).id),

    listRestores: async ({ organization, query }) => {
      const { limit, cursor, ...asked } = query;
      const filters = withInstants(asked);
      const list = { list: 'restores', filters: [organization.id, filters], limit, cursor };
      const page = await cursors.page(
        list,
        (rows, before) => restoreStore.page(database, organization.id, { limit: rows, before, filters }),
        placeOf,
      );
      return { data: page.rows.map(presentRestore), nextCursor: page.nextCursor };
    },

    getRestore: async ({ organization, params }) => {
      const { location: _, ...shown } = await answer(organization.id, params.restoreJobId);
      return shown;
    },

    cancelRestore: async (call) => {
      await cancelRestore(context, call, call.params.restoreJobId);
      return answer(call.organization.id, call.params.restoreJobId);
    },

    resumeRestore: async (call) => {
      await resumeRestore(context, call, call.params.restoreJobId);
      return answer(call.organization.id, call.params.restoreJobId);
    },

    undoRestore: async (call) => {
      const options = call.body ?? { force: false, dryRun: false };
      return answer(call.organization.id, (await undoRestore(context, call, call.params.restoreJobId, options)).id);
    },

    streamRestoreEvents: async ({ organization, params, signal }) => {
      await read(organization.id, params.restoreJobId);
      const readProgress = async () => {
        const row = await read(organization.id, params.restoreJobId);
        const isOver = row.status !== 'pending' && row.status !== 'running';
        const { id, status, phase, documentsRestored, error } = row;
        return { data: { id, status, phase, progress: presentRestoreProgress(row), documentsRestored, error }, isOver };
      };
      const stream = followJob({
        changes: context.platform.changes,
        organizationId: organization.id,
        id: params.restoreJobId,
        read: readProgress,
        signal,
      });
      return { stream, contentType: 'text/event-stream' };
    },

    startDrill: async (call) => {
      const row = await startDrill(context, call, call.params.backupId, call.body?.targetProjectId);
      return { data: presentDrill(row), location: pathOf('listDrills', { backupId: row.backupId }) };
    },

    listDrills: async ({ organization, params, query }) => {
      const page = await cursors.page({ list: 'drills', filters: params.backupId, ...query }, (rows, before) =>
        database.tenant(organization.id, async (transaction) => {
          await backupStore.get(transaction, organization.id, params.backupId);
          return drillStore.list(transaction, organization.id, params, rows, before);
        }),
      );
      return { data: page.rows.map(presentDrill), nextCursor: page.nextCursor };
    },

    listAllDrills: async ({ organization, query: { limit, cursor, ...filters } }) => {
      const page = await cursors.page(
        { list: 'all-drills', filters: [organization.id, filters], limit, cursor },
        (rows, before) =>
          database.tenant(organization.id, (transaction) =>
            drillStore.list(transaction, organization.id, filters, rows, before),
          ),
      );
      return { data: page.rows.map(presentDrill), nextCursor: page.nextCursor };
    },
  };
}
