import type { DataOf, Operations } from '@holdfast/contract';
import { type BlobStore, backupPrefix, EngineError, type ProbeStep, probeStore } from '@holdfast/engine';
import type { Clock } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { defined } from '../../../platform/defined.ts';
import { secondMs } from '../../../platform/durations.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import type { StoreOpener } from '../access/open-store.ts';
import type { ExpectedBackup, StorageContext } from '../context.ts';
import { presentStorageSummary } from '../present-storage.ts';
import { type DestinationRow, type NewDestination, type OpenableDestination, storageStore } from '../storage-store.ts';
import type { StoredTest } from '../tables.ts';

export type StorageTest = DataOf<Operations['testStorageDestination']>;
export type StorageCheck = Required<Pick<NewDestination, 'status' | 'error' | 'lastCheckedAt'>> & {
  lastTest: StoredTest;
  test: StorageTest;
};
/** The result of a check that only reads. */
export type QuickCheck = Omit<StorageCheck, 'test' | 'lastTest'>;

type CheckableDestination = OpenableDestination & Pick<DestinationRow, 'objectLock'>;

export interface CheckOptions {
  /** Backups that should be there. */
  expected?: readonly ExpectedBackup[];
  signal?: AbortSignal;
}

/** Per step. A user waits, but a slow storage that works must not count as away. */
const stepTimeoutMs = 8 * secondMs;
const checkAttemptsMax = 4;

/**
 * Does everything that backups do with a destination, and looks for backups that should be there. Never throws for
 * errors of the other side.
 */
export async function checkStorage(
  stores: StoreOpener,
  destination: CheckableDestination,
  clock: Clock,
  { expected = [], signal }: CheckOptions = {},
): Promise<StorageCheck> {
  const { steps, failure, keepsVersions } = await probe(stores, destination, expected, signal);
  const test = { ok: failure === undefined, steps, keepsVersions };
  const lastCheckedAt = clock.now();
  const found = { lastCheckedAt, lastTest: { ...test, at: lastCheckedAt.toISOString() }, test };
  if (failure === undefined) return { status: 'connected', error: null, ...found };
  const step = steps.find(({ ok }) => !ok)?.name;
  return { status: 'error', error: toJobError(failure, defined({ step })), ...found };
}

async function probe(
  stores: StoreOpener,
  destination: CheckableDestination,
  expected: readonly ExpectedBackup[],
  signal: AbortSignal | undefined,
): Promise<Pick<StorageTest, 'steps' | 'keepsVersions'> & { failure: unknown }> {
  let store: BlobStore | undefined;
  try {
    store = await stores.open(destination, { attemptsMax: checkAttemptsMax, makesFolder: expected.length === 0 });
    let late: AbortSignal | undefined;
    const signalOf = () => {
      const timeout = AbortSignal.timeout(stepTimeoutMs);
      late = signal ? AbortSignal.any([signal, timeout]) : timeout;
      return late;
    };
    const locks = destination.objectLock !== null;
    const tried = await probeStore(store, { signalOf, locks });
    const probed = tried.every(({ ok }) => ok) ? await withMissingBackups(store, expected, signalOf(), tried) : tried;
    // Nothing is tried after a failed step, so the last signal belongs to that step.
    const steps = probed.map((step) => (step.ok || !late?.aborted ? step : { ...step, error: notInTime() }));
    const failed = steps.find((step) => !step.ok);
    return {
      steps: steps.map((step) => ({
        name: step.name,
        ok: step.ok,
        durationMs: Math.round(step.durationMs),
        error: step.error?.message.slice(0, 2000) ?? null,
      })),
      keepsVersions: steps.find(({ name }) => name === 'delete')?.bucketKeepsVersions ?? null,
      failure: failed?.error,
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const steps: StorageTest['steps'] = [{ name: 'connect', ok: false, durationMs: 0, error: message.slice(0, 2000) }];
    return { steps, keepsVersions: null, failure: error };
  } finally {
    await store?.close();
  }
}

/** A place that answers but has none of its backups is not the same place any more. */
async function withMissingBackups(
  store: BlobStore,
  expected: readonly ExpectedBackup[],
  signal: AbortSignal,
  probed: readonly ProbeStep[],
): Promise<ProbeStep[]> {
  const error = await missingBackupsFault(store, expected, signal);
  return probed.map((step) => (error && step.name === 'list' ? { ...step, ok: false, error } : step));
}

/** The error when no object of any expected backup is there. */
export async function missingBackupsFault(
  store: BlobStore,
  expected: readonly ExpectedBackup[],
  signal: AbortSignal,
): Promise<EngineError | undefined> {
  const ids = expected.filter(({ isDeleted }) => !isDeleted).map(({ id }) => id);
  try {
    for (const id of ids) for await (const _ of store.list(backupPrefix(id), { signal })) return undefined;
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
  if (ids.length === 0) return undefined;
  return new EngineError(
    'STORAGE_UNAVAILABLE',
    `The backups that lay in ${store.location} are not there. It was emptied, or replaced, or the disk it lies on is not mounted. Bring it back; if it is gone for good, delete those backups.`,
    { details: { backupIds: ids } },
  );
}

function notInTime(): EngineError {
  return new EngineError(
    'STORAGE_UNAVAILABLE',
    `The storage did not answer within ${stepTimeoutMs / secondMs} seconds.`,
  );
}

/** Saves the result of a check, and emits an event when the state changed. */
export async function recordCheck(
  context: StorageContext,
  transaction: Transaction,
  row: DestinationRow,
  check: QuickCheck & Partial<Pick<StorageCheck, 'lastTest'>>,
): Promise<DestinationRow> {
  const { status, error, lastCheckedAt, lastTest } = check;
  const change = { status, error, lastCheckedAt, ...defined({ lastTest }) };
  const updated = await storageStore.update(transaction, row, change);
  if (row.status !== status) await emitStorageState(context.platform.outbox, transaction, updated);
  if (status === 'connected') await context.dependents.connected(transaction, updated);
  if (status === 'connected' && row.status === 'error') await context.dependents.recovered(transaction, updated);
  return updated;
}

/**
 * Saves what a backup found out about the destination before any check did. Returns whether the destination has
 * recovered.
 */
export async function recordUse(
  { outbox, clock }: Pick<Platform, 'outbox' | 'clock'>,
  transaction: Transaction,
  { organizationId, id }: Pick<DestinationRow, 'organizationId' | 'id'>,
  error: StoredError | null,
): Promise<boolean> {
  const status = error ? 'error' : 'connected';
  const row = await storageStore.find(transaction, organizationId, id);
  if (!row || (row.status === status && !error)) return false;
  const locked = await storageStore.lock(transaction, organizationId, id);
  const updated = await storageStore.update(transaction, locked, { status, error, lastCheckedAt: clock.now() });
  if (locked.status !== status) await emitStorageState(outbox, transaction, updated);
  return locked.status === 'error' && !error;
}

export async function emitStorageState(
  outbox: Platform['outbox'],
  transaction: Transaction,
  row: DestinationRow,
): Promise<void> {
  const storageDestination = presentStorageSummary(row);
  const { error } = row;
  const data = error
    ? {
        storageDestination,
        error: {
          code: error.code,
          message: error.message,
          details: { ...error.details, retryable: error.retryable, advice: error.advice },
        },
      }
    : { storageDestination };
  const type = error ? 'storage.error' : 'storage.connected';
  await outbox.emit(transaction, { organizationId: row.organizationId, type, payload: { data } });
}
