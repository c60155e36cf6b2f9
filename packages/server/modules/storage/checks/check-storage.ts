import type { DataOf, Operations } from '@holdfast/contract';
import { type BlobStore, EngineError, probeStore } from '@holdfast/engine';
import type { Clock } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { defined } from '../../../platform/defined.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import type { StoreOpener } from '../access/open-store.ts';
import type { StorageContext } from '../context.ts';
import { presentStorageSummary } from '../present-storage.ts';
import { type DestinationRow, type NewDestination, type OpenableDestination, storageStore } from '../storage-store.ts';

export type StorageTest = DataOf<Operations['testStorageDestination']>;
export type StorageCheck = Required<Pick<NewDestination, 'status' | 'error' | 'lastCheckedAt'>> & { test: StorageTest };

/** Somebody waits for the answer. */
const checkTimeoutMs = 8000;
const checkAttemptsMax = 4;

/** Does to the destination what a backup's life will do. Never throws for what the other side does. */
export async function checkStorage(
  stores: StoreOpener,
  destination: OpenableDestination,
  clock: Clock,
): Promise<StorageCheck> {
  const { steps, failure } = await probe(stores, destination);
  const test = { ok: failure === undefined, steps };
  const lastCheckedAt = clock.now();
  if (failure === undefined) return { status: 'connected', error: null, lastCheckedAt, test };
  const step = steps.find(({ ok }) => !ok)?.name;
  return { status: 'error', error: toJobError(failure, defined({ step })), lastCheckedAt, test };
}

async function probe(
  stores: StoreOpener,
  destination: OpenableDestination,
): Promise<{ steps: StorageTest['steps']; failure: unknown }> {
  let store: BlobStore | undefined;
  try {
    store = await stores.open(destination, { attemptsMax: checkAttemptsMax });
    const late = AbortSignal.timeout(checkTimeoutMs);
    const probed = await probeStore(store, { signal: late });
    const steps = probed.map((step) => (step.ok || !late.aborted ? step : { ...step, error: notInTime() }));
    const failed = steps.find((step) => !step.ok);
    return {
      steps: steps.map((step) => ({
        name: step.name,
        ok: step.ok,
        durationMs: Math.round(step.durationMs),
        error: step.error?.message.slice(0, 2000) ?? null,
      })),
      failure: failed?.error,
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { steps: [{ name: 'connect', ok: false, durationMs: 0, error: message.slice(0, 2000) }], failure: error };
  } finally {
    await store?.close();
  }
}

function notInTime(): EngineError {
  return new EngineError('STORAGE_UNAVAILABLE', `The storage did not answer within ${checkTimeoutMs / 1000} seconds.`);
}

/** Keeps what a check found; tells the world when the state changed. */
export async function recordCheck(
  context: StorageContext,
  transaction: Transaction,
  row: DestinationRow,
  check: Omit<StorageCheck, 'test'>,
): Promise<DestinationRow> {
  const { status, error, lastCheckedAt } = check;
  const updated = await storageStore.update(transaction, row, { status, error, lastCheckedAt });
  if (row.status !== status) await emitStorageState(context.platform.outbox, transaction, updated);
  if (status === 'connected') await context.dependents.connected(transaction, updated);
  return updated;
}

/** A backup met the destination before any check did: what it found is what the record says from then on. */
export async function recordUse(
  { outbox, clock }: Pick<Platform, 'outbox' | 'clock'>,
  transaction: Transaction,
  { organizationId, id }: Pick<DestinationRow, 'organizationId' | 'id'>,
  error: StoredError | null,
): Promise<void> {
  const status = error ? 'error' : 'connected';
  const row = await storageStore.find(transaction, organizationId, id);
  if (!row || (row.status === status && !error)) return;
  const locked = await storageStore.lock(transaction, organizationId, id);
  const updated = await storageStore.update(transaction, locked, { status, error, lastCheckedAt: clock.now() });
  if (locked.status !== status) await emitStorageState(outbox, transaction, updated);
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
