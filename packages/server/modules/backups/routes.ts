import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../http/call.ts';
import { withInstants } from '../../platform/cursor.ts';
import { placeOf } from '../../platform/database/pages.ts';
import { backupEtag, backupStore } from './backup-store.ts';
import { cancel, deleteBackup, setHold } from './change-backup.ts';
import { contentsHandlers } from './contents/contents-routes.ts';
import { startVerification } from './contents/start-verification.ts';
import type { BackupsContext } from './context.ts';
import { createBackup } from './create-backup.ts';
import { dryRunBackup } from './dry-run-backup.ts';
import { followBackup } from './events/live-events.ts';
import { importBackup } from './import/import-backup.ts';
import { presentBackup } from './present-backup.ts';

/** One backup as the API returns it. */
export async function answerBackup(context: BackupsContext, organizationId: string, backupId: string) {
  const row = await backupStore.shown(context.platform.database, organizationId, backupId);
  return { data: presentBackup(row), etag: backupEtag(row), location: pathOf('getBackup', { backupId }) };
}

export function backupHandlers(context: BackupsContext): Handlers {
  const { database, cursors } = context.platform;
  const answer = (organizationId: string, backupId: string) => answerBackup(context, organizationId, backupId);

  return {
    ...contentsHandlers(context),

    listBackups: async ({ organization, query }) => {
      const { limit, cursor, ...asked } = query;
      const filters = withInstants(asked);
      const list = { list: 'backups', filters: [organization.id, filters], limit, cursor };
      const page = await cursors.page(
        list,
        (rows, before) => backupStore.page(database, organization.id, { limit: rows, before, filters }),
        placeOf,
      );
      return { data: page.rows.map(presentBackup), nextCursor: page.nextCursor };
    },

    createBackup: async (call) => {
      if (call.body.dryRun)
        return { data: await dryRunBackup(context, call.organization.id, call.body, call.signal), status: 200 };
      const row = await createBackup(context, call, call.body);
      return answer(call.organization.id, row.id);
    },

    importBackup: async (call) =>
      answer(call.organization.id, (await importBackup(context, call, call.body, call.signal)).id),

    getBackup: async ({ organization, params }) => {
      const { location: _, ...shown } = await answer(organization.id, params.backupId);
      return shown;
    },

    deleteBackup: async (call) => {
      const gone = await deleteBackup(context, call, call.params.backupId, call.requireMatch);
      const what = gone === 1 ? 'The backup is deleted; its' : `${gone} backups that were merged are deleted; their`;
      return { message: `${what} objects are being removed. A bucket that keeps versions hides them only.` };
    },

    cancelBackup: async (call) => {
      await cancel(context, call, call.params.backupId);
      return answer(call.organization.id, call.params.backupId);
    },

    verifyBackup: async (call) => {
      await startVerification(context, call, call.params.backupId);
      return answer(call.organization.id, call.params.backupId);
    },

    holdBackup: async (call) => {
      await setHold(context, call, call.params.backupId, true);
      return answer(call.organization.id, call.params.backupId);
    },

    releaseBackup: async (call) => {
      await setHold(context, call, call.params.backupId, false);
      return answer(call.organization.id, call.params.backupId);
    },

    streamBackupEvents: async ({ organization, params, signal }) => ({
      stream: await followBackup(context, organization.id, params.backupId, signal),
      contentType: 'text/event-stream',
    }),
  };
}
