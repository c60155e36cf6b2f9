import type { DataOf, Operations } from '@holdfast/contract';
import { type BlobStore, backupPrefix, EngineError, type ProbeStep, probeStore } from '@holdfast/engine';
import type { Clock } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { defined } from '../../../platform/defined.ts';
import { secondMs } from '../../../platform/durations.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import type { StoreOpener } from '../access/open-store.ts';
import type { HeldBackup, StorageContext } from '../context.ts';
import { presentStorageSummary } from '../present-storage.ts';
import { type DestinationRow, type NewDestination, type OpenableDestination, storageStore } from '../storage-store.ts';
import type { StoredTest } from '../tables.ts';

export type StorageTest = DataOf<Operations['testStorageDestination']>;
export type StorageCheck = Required<Pick<NewDestination, 'status' | 'error' | 'lastCheckedAt'>> & {
  lastTest: StoredTest;
  test: StorageTest;
};
/** What looking alone finds. */
export type StorageLook = Omit<StorageCheck, 'test' | 'lastTest'>;

type CheckableDestination = OpenableDestination & Pick<DestinationRow, 'objectLock'>;

export interface CheckOptions {
  /** Backups that are said to lie there. */
  held?: readonly HeldBackup[];
  signal?: AbortSignal;
}

/** For each step: somebody waits for the answer, and a storage that is slow and works is not away. */
const stepTimeoutMs = 8 * secondMs;
const checkAttemptsMax = 4;

/**
 * Does to the destination what a backup's life will do, and looks for the backups that are said to lie there. Never throws
 * for what the other side does.
 */
export async function checkStorage(
  stores: StoreOpener,
  destination: CheckableDestination,
  clock: Clock,
  { held = [], signal }: CheckOptions = {},
): Promise<StorageCheck> {
  const { steps, failure, keepsVersions } = await probe(stores, destination, held, signal);
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
  held: readonly HeldBackup[],
  signal: AbortSignal | undefined,
): Promise<Pick<StorageTest, 'steps' | 'keepsVersions'> & { failure: unknown }> {
  let store: BlobStore | undefined;
  try {
    store = await stores.open(destination, { attemptsMax: checkAttemptsMax, makesFolder: held.length === 0 });
    let late: AbortSignal | undefined;
    const signalOf = () => {
      const timeout = AbortSignal.timeout(stepTimeoutMs);
      late = signal ? AbortSignal.any([signal, timeout]) : timeout;
      return late;
    };
    const locks = destination.objectLock !== null;
    const tried = await probeStore(store, { signalOf, locks });
    const probed = tried.every(({ ok }) => ok) ? await listingHeld(store, held, signalOf(), tried) : tried;
    // Nothing is tried behind a step that failed, so the last signal is that step's.
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

/** A place that answers and has none of its backups any more is not the place that it was. */
async function listingHeld(
  store: BlobStore,
  held: readonly HeldBackup[],
  signal: AbortSignal,
  probed: readonly ProbeStep[],
): Promise<ProbeStep[]> {
  const error = await heldFault(store, held, signal);
  return probed.map((step) => (error && step.name === 'list' ? { ...step, ok: false, error } : step));
}

/** What is wrong when not one of the backups that were asked for has left a trace. */
export async function heldFault(
  store: BlobStore,
  held: readonly HeldBackup[],
  signal: AbortSignal,
): Promise<EngineError | undefined> {
  const ids = held.filter(({ isDeleted }) => !isDeleted).map(({ id }) => id);
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

/** Keeps what a check found; tells the world when the state changed. */
export async function recordCheck(
  context: StorageContext,
  transaction: Transaction,
  row: DestinationRow,
  check: StorageLook & Partial<Pick<StorageCheck, 'lastTest'>>,
): Promise<DestinationRow> {
  const { status, error, lastCheckedAt, lastTest } = check;
  const change = { status, error, lastCheckedAt, ...defined({ lastTest }) };
  const updated = await storageStore.update(transaction, row, change);
  if (row.status !== status) await emitStorageState(context.platform.outbox, transaction, updated);
  if (status === 'connected') await context.dependents.connected(transaction, updated);
  if (status === 'connected' && row.status === 'error') await context.dependents.recovered(transaction, updated);
  return updated;
}

/** A backup met the destination before any check did: what it found is what the record says from then on. Whether it has recovered. */
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
