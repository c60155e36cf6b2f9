import { EngineError } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { databaseName } from '../../projects/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { loadBackup } from '../load-backup.ts';
import { isSameScope, scopeOf } from '../scope.ts';
import { type OpenedChain, openAnyCopy } from './open-chain.ts';

type Asked = Pick<
  BackupRow,
  'id' | 'organizationId' | 'projectId' | 'collections' | 'excludeCollections' | 'includeSubcollections'
>;

/**
 * Opens the backup with the newest data among those with the given scope, whenever they were registered. An imported
 * backup of another database is not one of the project's own states.
 */
export async function openNewestChain(
  context: BackupsContext,
  asked: Asked,
  signal: AbortSignal,
): Promise<{ newest: BackupRow; chain: OpenedChain }> {
  const { organizationId, projectId, id } = asked;
  const { database } = context.platform;
  const completed = await database.tenant(organizationId, (transaction) =>
    backupStore.newestCompleted(transaction, organizationId, projectId, id),
  );
  for (const one of newestFirst(completed, asked)) {
    const found = await database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, one.id),
    );
    if (!found) continue;
    const chain = await openAnyCopy(context, found, signal);
    if (chain.readers.at(-1)?.body.database === databaseName(found.project)) return { newest: found.row, chain };
    await chain.close();
  }
  throw new Problem(
    'INVALID_STATE',
    'There is no completed backup of these collections that could be merged; take a full one of them first.',
  );
}

/** Opens the backup that a merged one will replace. */
export async function openNamedChain(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<{ newest: BackupRow; chain: OpenedChain }> {
  const found = await context.platform.database.tenant(organizationId, (transaction) =>
    loadBackup(context, transaction, organizationId, backupId),
  );
  if (!found || found.row.deletedAt) throw new EngineError('INTEGRITY_ERROR', `The backup ${backupId} is gone.`);
  return { newest: found.row, chain: await openAnyCopy(context, found, signal) };
}

function newestFirst(completed: readonly BackupRow[], asked: Asked): BackupRow[] {
  const sameScope = completed.filter((one) => isSameScope(scopeOf(one), scopeOf(asked)));
  const asksForAll = asked.collections[0] === '*' && asked.excludeCollections.length === 0;
  const candidates = sameScope.length > 0 ? sameScope : asksForAll ? completed : [];
  return candidates.toSorted((left, right) => ((left.snapshotTime ?? '') < (right.snapshotTime ?? '') ? 1 : -1));
}
