import { setTimeout as sleep } from 'node:timers/promises';
import { type BlobStore, backupPrefix, deleteBackup, isEngineError, isSamePlace } from '@holdfast/engine';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { toJobError } from '../../job-error.ts';
import {
  type DestinationRow,
  SamePlaces,
  storageStore,
  type TaskResult,
  type TaskRun,
  withStore,
} from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import { copyLockName } from '../contents/open-chain.ts';
import { admitVerifications, verifyAgain } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { copyStore } from './copy-store.ts';
import { hasObjects, lockedUntilOf, type Migration, MovedCopies } from './moved-copies.ts';
import { isCopyWhole, proveCopy } from './prove-copy.ts';
import { workOnDestination } from './work-on-destination.ts';

const waitMs = 2000;
const readWaitMs = 100;
const waitMsMax = 30 * minuteMs;
const readersWaitMsMax = 10 * minuteMs;
const failuresMax = 100;

/**
 * Copies every backup and reads each copy, then switches all records in one transaction, then removes the originals.
 * The records switch together because an increment is read from the place of its parents. A backup without a whole copy
 * stays where it is and is reported. Can be repeated after any interruption.
 */
export async function migrateStorage(context: BackupsContext, run: TaskRun): Promise<TaskResult> {
  const { destination, task, signal } = run;
  const target = await context.platform.database.tenant(destination.organizationId, (transaction) =>
    storageStore.get(transaction, destination.organizationId, task.toStorageDestinationId ?? ''),
  );
  return await withStore(context.stores, destination, (from) =>
    withStore(context.stores, target, async (to) => {
      if (await isSamePlace(from, to, { signal })) throw onePlace();
      const others = await recordsOfPlace(context, run, target, from);
      return await migrate(context, { ...run, ...others, target, from, to });
    }),
  );
}

/** Both are the same place: moving backups onto themselves and then removing the originals would leave nothing. */
function onePlace(): Problem {
  return new Problem('INVALID_STATE', 'Both destinations are one place: what lies in the one lies in the other.');
}

async function recordsOfPlace(
  context: BackupsContext,
  { destination, signal }: TaskRun,
  target: DestinationRow,
  from: BlobStore,
): Promise<Pick<Migration, 'siblings' | 'unsure'>> {
  const rows = await context.platform.database.tenant(destination.organizationId, (transaction) =>
    storageStore.all(transaction, destination.organizationId),
  );
  const places = new SamePlaces(context.stores, from, signal);
  const [siblings, unsure]: [string[], string[]] = [[], []];
  for (const row of rows.filter(({ id }) => id !== destination.id && id !== target.id)) {
    const isSame = await places.isSame(row);
    if (isSame === undefined) unsure.push(row.id);
    else if (isSame) siblings.push(row.id);
  }
  return { siblings, unsure };
}

async function migrate(context: BackupsContext, run: Migration): Promise<TaskResult> {
  const copies = new MovedCopies(context, run);
  const deadlineMs = performance.now() + waitMsMax;
  for (;;) {
    await copies.copyMissing();
    if (await switchAll(context, run, copies)) break;
    if (performance.now() > deadlineMs)
      throw new Problem('CONFLICT', 'Backups or restores kept working on the destination; try again later.');
    await sleep(waitMs, undefined, { signal: run.signal });
  }
  const { moved, staying } = copies;
  await verifyMovedAgain(context, run, copies);
  const [first] = staying.values();
  if (moved.size === 0 && first)
    throw new Problem(
      copies.damaged.size > 0 ? 'INTEGRITY_ERROR' : 'DECRYPTION_ERROR',
      `Nothing could be moved. ${first}`,
    );
  const result = resultOf(run.task.result, copies);
  await run.onProgress(90, 'Verifying', 0, result);
  await untilRead(context, run);
  await removeOriginals(context, run, copies.proven, result);
  return { ...result, failures: [...copies.failures(), ...result.failures].slice(0, failuresMax) };
}

type Moved = Required<Pick<TaskResult, 'found' | 'copied' | 'bytes' | 'removed' | 'failures' | 'versionsKept'>>;

/** What has moved so far, including what an interrupted attempt moved and removed after its switch. */
function resultOf(before: TaskResult | null, { moved, staying }: MovedCopies): Moved {
  const copied = (before?.copied ?? 0) + moved.size;
  const bytes = [...moved.values()].reduce((sum, size) => sum + size, before?.bytes ?? 0);
  const { removed = 0, versionsKept = false } = before ?? {};
  return { found: copied + staying.size, copied, bytes, removed, failures: [], versionsKept };
}

/**
 * Verifies backups that were found damaged, so that their records say so and nothing is built on them. Also verifies
 * backups that moved whole but were called damaged before, so that new backups can build on them again.
 */
async function verifyMovedAgain(
  context: BackupsContext,
  { destination }: Migration,
  { damaged, moved }: MovedCopies,
): Promise<void> {
  const { organizationId } = destination;
  const { database } = context.platform;
  for (const id of [...damaged, ...moved.keys()])
    await database.tenant(organizationId, async (transaction) => {
      const row = await backupStore.find(transaction, organizationId, id);
      if (damaged.has(id) || row?.verification?.status === 'failed')
        await verifyAgain(context, transaction, organizationId, id);
    });
  await admitVerifications(context.platform);
}

/** False, and nothing is changed, while something works on the destination, or while a new backup is not copied yet. */
async function switchAll(context: BackupsContext, run: Migration, copies: MovedCopies): Promise<boolean> {
  const { destination, target } = run;
  const { organizationId } = destination;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const held = await copyStore.lockIn(transaction, destination);
    if ((await workOnDestination(context, transaction, organizationId, destination.id)).length > 0) return false;
    if (held.some((id) => !copies.moved.has(id) && !copies.staying.has(id))) return false;
    await copies.tieParents(transaction);
    const backupIds = [...copies.moved.keys()].filter((id) => !copies.tied.has(id));
    const change = { now: context.platform.clock.now(), lockedUntil: lockedUntilOf(run) };
    await copyStore.unlink(transaction, organizationId, run.siblings, backupIds);
    const all = await storageStore.all(transaction, organizationId);
    const lockingIds = all.flatMap(({ id, objectLock }) => (objectLock ? [id] : []));
    await copyStore.move(transaction, destination, target, backupIds, { ...change, lockingIds });
    for (const id of copies.tied.keys()) await copyStore.link(transaction, target, id, change);
    await copies.rewrapIfOlder(transaction);
    return true;
  });
}

/** A restore that began during the switch of the records may still read the originals. */
async function untilRead(context: BackupsContext, { target, signal }: Migration): Promise<void> {
  const deadlineMs = performance.now() + readersWaitMsMax;
  for (;;) {
    const work = await context.platform.database.tenant(target.organizationId, (transaction) =>
      workOnDestination(context, transaction, target.organizationId, target.id),
    );
    if (work.every(({ type }) => type === 'backup') || performance.now() > deadlineMs) return;
    await sleep(waitMs, undefined, { signal });
  }
}

/**
 * Removes the originals of backups that have a copy in the new place, moved by this run or by an interrupted one. Every
 * copy is read before the first original is removed. If one copy does not read well, all originals stay.
 */
async function removeOriginals(
  context: BackupsContext,
  run: Migration,
  provenNow: ReadonlySet<string>,
  result: Moved,
): Promise<void> {
  const { destination, target, from, to, signal, onProgress } = run;
  const { organizationId } = destination;
  const moved = await context.platform.database.tenant(organizationId, (transaction) =>
    copyStore.onlyIn(transaction, target, [destination.id, ...run.siblings, ...run.unsure]),
  );
  const left: string[] = [];
  for (const id of moved) if (await hasObjects(from, id, signal)) left.push(id);
  const proven = new Set<string>();
  for (const [index, id] of left.entries()) {
    const isThorough = !provenNow.has(id);
    await proveCopy(context, organizationId, to, id, { signal, isThorough, proven }).catch((error: unknown) =>
      takeBack(context, run, left, id, error),
    );
    await onProgress(90 + Math.floor((5 * (index + 1)) / left.length), 'Verifying', 0);
  }
  for (const [index, id] of left.entries()) {
    await untilUnused(context, run, id);
    try {
      const { versionsKept } = await deleteBackup(from, id, { signal });
      result.versionsKept ||= versionsKept;
      result.removed++;
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      if (result.failures.length < failuresMax)
        result.failures.push({ key: backupPrefix(id), reason: error.message.slice(0, 2000) });
    }
    await onProgress(95 + Math.floor((4 * (index + 1)) / left.length), 'Removing', 0, result);
  }
}

/** Waits for readers that opened the originals before the switch, up to a time limit. */
async function untilUnused(
  context: BackupsContext,
  { destination, signal }: Migration,
  backupId: string,
): Promise<void> {
  const { database } = context.platform;
  for (const deadlineMs = performance.now() + readersWaitMsMax; performance.now() < deadlineMs; ) {
    const isFree = await database.tenant(destination.organizationId, (transaction) =>
      isUnused(transaction, copyLockName(backupId, destination.id)),
    );
    if (isFree) return;
    await sleep(readWaitMs, undefined, { signal });
  }
}

/** A copy had the right bytes but does not read well: the originals stay and count again, and the task says so. */
async function takeBack(
  context: BackupsContext,
  { destination, target, from, signal }: Migration,
  backupIds: readonly string[],
  brokenId: string,
  error: unknown,
): Promise<never> {
  if (signal.aborted || !isEngineError(error) || error.retryable) throw error;
  const { database, clock } = context.platform;
  const { organizationId } = destination;
  const whole: string[] = [];
  for (const id of backupIds)
    if (await isCopyWhole(context, organizationId, from, id, { signal, isThorough: false })) whole.push(id);
  await database.tenant(organizationId, async (transaction) => {
    const change = { status: 'failed' as const, error: toJobError(error) };
    await backupStore.updateCopy(transaction, organizationId, brokenId, target.id, change);
    for (const id of whole) await copyStore.link(transaction, destination, id, { now: clock.now(), lockedUntil: null });
  });
  throw new Problem('INTEGRITY_ERROR', `The copy of ${brokenId} does not read well; every original stays.`, {
    cause: error,
  });
}
