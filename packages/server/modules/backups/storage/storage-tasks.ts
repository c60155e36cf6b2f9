import type { StorageDependents } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { backupsIn } from '../summaries/statistics-store.ts';
import { copyStore } from './copy-store.ts';
import { migrateStorage } from './migrate-storage.ts';
import { findOrphans } from './orphan-objects.ts';
import { purgeVersions } from './purge-versions.ts';
import { rescanStorage } from './rescan-storage.ts';
import { sweepStorage } from './sweep-storage.ts';
import { workOnDestination } from './work-on-destination.ts';

/** How many backups a check of a destination looks for. */
const expectedMax = 3;

/** Rescan, sweep, purge and migration of a destination need the catalogue of backups. */
export function storageTasks(
  context: BackupsContext,
): Pick<
  StorageDependents,
  'expectedBackups' | 'madeIn' | 'orphans' | 'rescan' | 'sweep' | 'migrate' | 'purge' | 'workOn'
> {
  return {
    expectedBackups: (transaction, organizationId, id) =>
      copyStore.newestIn(transaction, organizationId, id, expectedMax),
    madeIn: async (transaction, organizationId, id) =>
      (await backupsIn(transaction, organizationId, id))
        .filter(({ status }) => status !== 'completed')
        .map((backup) => ({ type: 'backup', id: backup.id })),
    orphans: (_organizationId, destination, store, options) =>
      findOrphans(context, destination, store, { ...options, isThorough: false }),
    rescan: (run) => rescanStorage(context, run),
    sweep: (run) => sweepStorage(context, run),
    migrate: (run) => migrateStorage(context, run),
    purge: (run) => purgeVersions(context, run),
    workOn: (transaction, organizationId, destinationId) =>
      workOnDestination(context, transaction, organizationId, destinationId),
  };
}
