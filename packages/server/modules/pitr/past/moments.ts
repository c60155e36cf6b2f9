import { wholeDatabase } from '@holdfast/engine';
import { inTime } from '../../in-time.ts';
import type { Moments } from '../../restores/index.ts';
import type { PitrContext } from '../context.ts';
import { notEnabled } from '../coverage.ts';
import { pitrStore } from '../pitr-store.ts';
import { openPast, requirePast } from './open-past.ts';

const lookTimeoutMs = 20_000;

/** What restores need from point-in-time recovery. */
export function momentsOf(context: PitrContext): Moments {
  return {
    require: async (organizationId, projectId, at) => {
      const look = (signal: AbortSignal) => requirePast(context, { organizationId, projectId, at, signal });
      await inTime(lookTimeoutMs, 'STORAGE_UNAVAILABLE', look);
    },
    open: async (organizationId, projectId, at, signal) => {
      // Opening the view has read and checked the log; the backups below it are checked by the restore.
      const { view, readers, close } = await openPast(context, { organizationId, projectId, at, signal });
      return { view, readers, scope: wholeDatabase, close };
    },
    destinationOf: async (organizationId, projectId) => {
      const row = await context.backups.platform.database.tenant(organizationId, (transaction) =>
        pitrStore.find(transaction, organizationId, projectId),
      );
      if (!row) throw notEnabled();
      return row.storageDestinationId;
    },
  };
}
