import type { StorageDependents } from '../storage/index.ts';
import type { BackupsContext } from './context.ts';

/** Rescan, sweep and migration of a destination: what only the catalogue of backups can do. */
export function storageTasks(
  _context: BackupsContext,
): Pick<StorageDependents, 'orphans' | 'rescan' | 'sweep' | 'migrate'> {
  const later = async () => ({});
  return { orphans: async function* () {}, rescan: later, sweep: later, migrate: later };
}
