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

/** The newest completed backup of the project that lies in the same destinations and covers the same. */
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
    const beside = await copiesBeside(context, loaded, candidate.id);
    if (!beside) {
      reason = 'the one before lies in another destination';
      continue;
    }
    if (candidate.verification && foundDamage(candidate.verification)) {
      reason = `${candidate.id} did not pass its verification`;
      break;
    }
    const opened = await openFollowed(context, beside, source, scope, signal);
    const followed = typeof opened === 'string' ? opened : await unlessDoubted(context, loaded, opened, signal);
    const isFollowed = typeof followed !== 'string';
    if (isFollowed && (await extendLocks(context, loaded, followed, signal)))
      return { chain: followed, warning: undefined };
    if (isFollowed) await followed[0]?.store.close();
    reason = isFollowed ? `the lock of ${candidate.id} cannot be prolonged` : followed;
    break;
  }
  const text = `This backup became a full one, because ${reason.replace(/\.$/, '')}.`;
  return { chain: undefined, warning: warning('BECAME_FULL', text) };
}

/** The candidate as it lies in the first destination; undefined unless every destination has a whole copy of it. */
async function copiesBeside(
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

/** What is known of a base counts for everything that builds on it; and who gave a key opens what is made with it by that key alone. */
async function unlessDoubted(
  context: BackupsContext,
  loaded: LoadedBackup,
  chain: BackupReader[],
  signal: AbortSignal,
): Promise<BackupReader[] | string> {
  const { organizationId } = loaded.row;
  for (const { backupId } of chain) {
    const doubt = await context.platform.database.tenant(organizationId, async (transaction) => {
      const base = await backupStore.find(transaction, organizationId, backupId);
      if (base?.verification && foundDamage(base.verification)) return 'did not pass its verification';
      return (await isUnderKeyInUse(context, transaction, organizationId, [backupId]))
        ? undefined
        : 'was made with another key than the one in use, and was not wrapped anew by a rotation';
    });
    if (doubt === undefined) continue;
    await chain[0]?.store.close();
    return `${backupId} ${doubt}`;
  }
  const behind = await firstUnderFormerKey(context, loaded, chain, signal).catch(async (error: unknown) => {
    await chain[0]?.store.close();
    throw error;
  });
  if (behind === undefined) return chain;
  await chain[0]?.store.close();
  return `${behind} was made with another key than the one in use, and a lock or a rule of its bucket keeps it under that for now`;
}

/** The chain that an increment can follow, or the reason why it cannot. */
async function openFollowed(
  context: BackupsContext,
  candidate: LoadedBackup,
  source: Pick<DocumentSource, 'database'>,
  scope: Scope,
  signal: AbortSignal,
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
