import { type BackupReader, type DocumentSource, openChain, reasonNotToFollow, type Scope } from '@holdfast/engine';
import { backupStore } from '../backup-store.ts';
import { foundDamage } from '../contents/verification-store.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { firstUnderFormerKey } from '../keys/first-under-former-key.ts';
import { isUnderKeyInUse } from '../keys/key-in-use.ts';
import { type LoadedBackup, loadBackup, openReadable } from '../load-backup.ts';
import { isSameScope, scopeOf } from '../scope.ts';
import { extendLocks } from '../storage/extend-locks.ts';
import { warning } from '../warnings.ts';

export interface ParentFound {
  chain: BackupReader[] | undefined;
  /** Why an increment became a full backup. */
  warning: string | undefined;
}

/** Finds the newest completed backup with the same scope and in the same destinations that the increment can follow. */
export async function findParent(
  context: BackupsContext,
  loaded: LoadedBackup,
  source: Pick<DocumentSource, 'database'>,
  scope: Scope,
  signal: AbortSignal,
): Promise<ParentFound> {
  const { row } = loaded;
  const candidates = await context.platform.database.tenant(row.organizationId, (transaction) =>
    backupStore.newestCompleted(transaction, row.organizationId, row.projectId, row.id),
  );
  let reason =
    candidates.length > 0 ? 'the ones before cover other collections' : 'there is no completed backup to build on';
  for (const candidate of candidates.filter((one) => isSameScope(scopeOf(one), scope))) {
    const beside = await copiesInSamePlaces(context, loaded, candidate.id);
    if (!beside) {
      reason = 'the one before lies in another destination';
      continue;
    }
    const chain = await openIfUsable(context, loaded, beside, { source, scope, signal });
    if (typeof chain !== 'string') return { chain, warning: undefined };
    reason = chain;
    break;
  }
  const text = `This backup became a full one, because ${reason.replace(/\.$/, '')}.`;
  return { chain: undefined, warning: warning('BECAME_FULL', text) };
}

/** The candidate as the first destination holds it; undefined unless every destination has a whole copy of it. */
async function copiesInSamePlaces(
  context: BackupsContext,
  { row, copies }: LoadedBackup,
  candidateId: string,
): Promise<LoadedBackup | undefined> {
  const candidate = await context.platform.database.tenant(row.organizationId, (transaction) =>
    loadBackup(context, transaction, row.organizationId, candidateId),
  );
  if (!candidate) return undefined;
  const whole = candidate.copies.filter(({ status }) => status === 'completed');
  const liesIn = new Set(whole.map((copy) => copy.storageDestinationId));
  // Every copy of an increment must be readable by itself, so each needs its parent beside it.
  if (!copies.every((copy) => liesIn.has(copy.storageDestinationId))) return undefined;
  return { ...candidate, copies: whole.filter((copy) => copy.storageDestinationId === row.storageDestinationId) };
}

interface Asked {
  source: Pick<DocumentSource, 'database'>;
  scope: Scope;
  signal: AbortSignal;
}

/** The chain of a candidate, opened, or the reason why an increment cannot follow it. */
async function openIfUsable(
  context: BackupsContext,
  loaded: LoadedBackup,
  candidate: LoadedBackup,
  asked: Asked,
): Promise<BackupReader[] | string> {
  const { id, verification } = candidate.row;
  if (verification && foundDamage(verification)) return `${id} did not pass its verification`;
  const chain = await openIfManifestsFit(context, candidate, asked);
  if (typeof chain === 'string') return chain;
  let obstacle: string | undefined;
  try {
    obstacle = await obstacleIn(context, loaded, chain, asked.signal);
    if (obstacle === undefined && !(await extendLocks(context, loaded, chain, asked.signal)))
      obstacle = `the lock of ${id} cannot be prolonged`;
  } catch (error) {
    await chain[0]?.store.close();
    throw error;
  }
  if (obstacle === undefined) return chain;
  await chain[0]?.store.close();
  return obstacle;
}

/** An increment is damaged when its base is. And a customer's key alone must open everything that is made with it. */
async function obstacleIn(
  context: BackupsContext,
  loaded: LoadedBackup,
  chain: readonly BackupReader[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { organizationId } = loaded.row;
  for (const { backupId } of chain) {
    const obstacle = await context.platform.database.tenant(organizationId, async (transaction) => {
      const base = await backupStore.find(transaction, organizationId, backupId);
      if (base?.verification && foundDamage(base.verification)) return 'did not pass its verification';
      return (await isUnderKeyInUse(context, transaction, organizationId, [backupId]))
        ? undefined
        : 'was made with another key than the one in use, and was not wrapped anew by a rotation';
    });
    if (obstacle !== undefined) return `${backupId} ${obstacle}`;
  }
  const behind = await firstUnderFormerKey(context, loaded, chain, signal);
  return (
    behind &&
    `${behind} was made with another key than the one in use, and a lock or a rule of its bucket keeps it under that for now`
  );
}

/** The same, as far as the manifests alone tell. */
async function openIfManifestsFit(
  context: BackupsContext,
  candidate: LoadedBackup,
  { source, scope, signal }: Asked,
): Promise<BackupReader[] | string> {
  const { id: backupId, organizationId } = candidate.row;
  const keys = await BackupKeyRing.load(context, organizationId);
  const { store } = await openReadable(context, candidate);
  try {
    const chain = await openChain({ store, backupId, keys, codec: context.engine.codec, signal });
    const newest = { body: chain.at(-1)!.body, chainLength: chain.length };
    const obstacle = reasonNotToFollow(newest, source.database, scope);
    if (obstacle === undefined) return chain;
    await store.close();
    return `${backupId} cannot be followed: ${obstacle}`;
  } catch (error) {
    await store.close();
    return `${backupId} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`;
  }
}
