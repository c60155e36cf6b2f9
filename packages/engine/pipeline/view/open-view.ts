import { EngineError, isEngineError } from '../../ports/errors.ts';
import { BackupReader, type OpenBackupOptions } from './backup-reader.ts';
import { View } from './view.ts';

/**
 * Reading a chain keeps a segment of each of its backups in memory, so its length is limited. Longer chains are merged,
 * or a new one begins.
 */
export const chainLengthMax = 64;

/** The chain that ends at a backup, oldest first. Every parent must be the exact backup on which its child was made. */
export async function openChain(options: OpenBackupOptions): Promise<BackupReader[]> {
  const chain = [await BackupReader.open(options)];
  for (let parent = chain[0]!.body.parent; parent !== null; parent = chain[0]!.body.parent) {
    if (chain.length > chainLengthMax) throw new EngineError('INTEGRITY_ERROR', 'A chain of backups does not end.');
    const reader = await openParent(options, parent.backupId);
    if (reader.manifestSha256 !== parent.manifestSha256) {
      throw new EngineError(
        'INTEGRITY_ERROR',
        `Backup ${parent.backupId} is not the one that ${chain[0]!.backupId} was made on.`,
      );
    }
    chain.unshift(reader);
  }
  return chain;
}

async function openParent(options: OpenBackupOptions, backupId: string): Promise<BackupReader> {
  try {
    return await BackupReader.open({ ...options, backupId });
  } catch (error) {
    if (!isEngineError(error, 'STORAGE_NOT_FOUND')) throw error;
    throw new EngineError('INTEGRITY_ERROR', `Backup ${backupId}, which ${options.backupId} depends on, is gone.`, {
      cause: error,
    });
  }
}

export async function openView(options: OpenBackupOptions): Promise<View> {
  return viewOfChain(await openChain(options));
}

export function viewOfChain(chain: readonly BackupReader[]): View {
  const newest = chain.at(-1)!;
  return new View(newest.body.database, chain, newest.body);
}
