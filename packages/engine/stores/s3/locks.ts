import { GetObjectLockConfigurationCommand, HeadObjectCommand, PutObjectRetentionCommand } from '@aws-sdk/client-s3';
import { isEngineError, type LockAbility, type ObjectLock } from '../../ports/index.ts';
import { AttemptError, locked, lockPermissionMissing } from '../attempt.ts';
import { forEachLimited } from '../for-each-limited.ts';
import type { S3Bucket } from './bucket.ts';
import { wrongRegion } from './errors.ts';

const askingPermission = 's3:GetBucketObjectLockConfiguration';

/** The keys whose current version is locked. Asked key by key, and only in buckets that can lock. */
export async function lockedAmong(
  store: S3Bucket,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Set<string>> {
  const found = new Set<string>();
  if (!(await bucketMayLock(store, signal))) return found;
  await forEachLimited(keys, async (key) => {
    if (isInForce(store, await lockOf(store, key, signal))) found.add(key);
  });
  return found;
}

/** A version that the credentials may not look at counts as free: the service itself refuses to remove a locked one. */
export async function isLockedVersion(
  store: S3Bucket,
  key: string,
  versionId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    return isInForce(store, await lockOf(store, key, signal, versionId));
  } catch (error) {
    if (isEngineError(error, 'STORAGE_PERMISSION_DENIED')) return false;
    throw error;
  }
}

function isInForce(store: S3Bucket, lock: Awaited<ReturnType<typeof lockOf>>): boolean {
  return lock !== undefined && (lock.isHeld || (lock.until !== undefined && lock.until > store.now()));
}

export async function bucketMayLock(store: S3Bucket, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    return (await lockAbility(store, signal)).canLock;
  } catch (error) {
    // Credentials that may not ask: then each object is.
    if (isEngineError(error, 'STORAGE_PERMISSION_DENIED')) return true;
    if (isEngineError(error, 'STORAGE_NOT_FOUND') || isEngineError(error, 'VALIDATION_ERROR')) return false;
    throw error;
  }
}

/** What the bucket says of itself. */
export async function lockAbility(store: S3Bucket, signal: AbortSignal | undefined): Promise<LockAbility> {
  try {
    const output = await store.attempt('', signal, (call) =>
      store.client.send(new GetObjectLockConfigurationCommand({ Bucket: store.bucket }), call),
    );
    const isEnabled = output.ObjectLockConfiguration?.ObjectLockEnabled === 'Enabled';
    return isEnabled ? { canLock: true } : unknownTo(store);
  } catch (error) {
    const { code, status } = error instanceof AttemptError ? error.details : {};
    if (code === 'AccessDenied') throw lockPermissionMissing(store.location, askingPermission, error);
    if (code === 'ObjectLockConfigurationNotFoundError') return notEnabledOn(store);
    // Services that never heard of object lock say so in several ways.
    const isRefused = status === 501 || status === 405 || (status === 400 && !wrongRegion.includes(String(code)));
    const isNoBucket = code === 'NoSuchBucket';
    if (isRefused || (isEngineError(error, 'STORAGE_NOT_FOUND') && !isNoBucket)) return unknownTo(store);
    throw error;
  }
}

function notEnabledOn({ location }: S3Bucket): LockAbility {
  const reason = `Object lock is not enabled on the bucket of ${location}. Enable it there (Amazon does so for a bucket that keeps versions, many others only for a new one), choose a bucket that has it, or take the object lock from the destination.`;
  return { canLock: false, reason };
}

function unknownTo({ location }: S3Bucket): LockAbility {
  const reason = `The storage behind ${location} does not know object lock. Choose one that has it, or take the object lock from the destination.`;
  return { canLock: false, reason };
}

async function lockOf(store: S3Bucket, key: string, signal: AbortSignal | undefined, VersionId?: string) {
  const question = { ...store.address(key), ...(VersionId === undefined ? {} : { VersionId }) };
  try {
    const output = await store.attempt(key, signal, (call) => store.client.send(new HeadObjectCommand(question), call));
    return { until: output.ObjectLockRetainUntilDate, isHeld: output.ObjectLockLegalHoldStatus === 'ON' };
  } catch (error) {
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** Asks for the longer lock first. A refusal may mean that the object already has one that lasts longer. */
export async function extendLocks(
  store: S3Bucket,
  keys: readonly string[],
  { mode, retainUntil }: ObjectLock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const refused: string[] = [];
  const Mode = mode === 'compliance' ? ('COMPLIANCE' as const) : ('GOVERNANCE' as const);
  await forEachLimited(keys, async (key) => {
    const Retention = { Mode, RetainUntilDate: retainUntil };
    try {
      await store.attempt(key, signal, (call) =>
        store.client.send(new PutObjectRetentionCommand({ ...store.address(key), Retention }), call),
      );
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      const until = (await lockOf(store, key, signal))?.until;
      if (!until || until.getTime() < Math.floor(retainUntil.getTime() / 1000) * 1000) refused.push(key);
    }
  });
  if (refused.length > 0) throw locked(store.location, refused.sort());
}
