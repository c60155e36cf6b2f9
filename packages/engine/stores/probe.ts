import { randomBytes, randomUUID } from 'node:crypto';
import { type BlobStore, type CallOptions, EngineError, isEngineError } from '../ports/index.ts';

export type ProbeStepName = 'write' | 'read' | 'range' | 'list' | 'delete' | 'objectLock';

export interface ProbeStep {
  name: ProbeStepName;
  ok: boolean;
  durationMs: number;
  error: EngineError | undefined;
  /** Set by the delete step, for buckets: whether a removed object stays as a hidden version. */
  bucketKeepsVersions?: boolean;
}

/** Objects that only live for a moment. */
export const probePrefix = 'holdfast-probe-';
const probeBytes = 64 * 1024;
type Work = [ProbeStepName, () => Promise<void>];

/**
 * Does with one small object what every backup does: write, read back, read a range, list, delete. With `locks` it asks
 * last whether objects can be locked. Stops at the first step that fails, but still tries to remove the object.
 * `signalOf` gives each step its own signal.
 */
export async function probeStore(
  store: BlobStore,
  { locks = false, signalOf, ...given }: CallOptions & { locks?: boolean; signalOf?: () => AbortSignal } = {},
): Promise<ProbeStep[]> {
  let options: CallOptions = given;
  const key = `${probePrefix}${randomUUID()}`;
  const bytes = new Uint8Array(randomBytes(probeBytes));
  let removal: Pick<ProbeStep, 'bucketKeepsVersions'> = {};
  const work: Work[] = [
    ['write', async () => void (await store.put(key, bytes, { ...options, ifAbsent: true }))],
    ['read', async () => expectBytes(await store.get(key, options), bytes)],
    ['range', async () => expectBytes(await store.getRange(key, 1000, 5000, options), bytes.subarray(1000, 6000))],
    ['list', () => expectListed(store, key, options)],
    [
      'delete',
      async () => {
        removal = await remove(store, key, options);
      },
    ],
    ...(locks ? [['objectLock', () => expectLocks(store, options)] satisfies Work] : []),
  ];
  const steps: ProbeStep[] = [];
  for (const [name, run] of work) {
    if (signalOf) options = { ...given, signal: signalOf() };
    const step = await timed(name, run);
    steps.push(name === 'delete' ? { ...step, ...removal } : step);
    if (step.ok) continue;
    if (name === 'read' || name === 'range' || name === 'list')
      await store.delete([key], { ...options, purge: true }).catch(() => {});
    break;
  }
  return steps;
}

/**
 * Whether two stores are the same place, whatever their addresses say: writes an object into the first and looks for it
 * in the second. Both must be readable, and the first writable.
 */
export async function isSamePlace(one: BlobStore, other: BlobStore, options: CallOptions = {}): Promise<boolean> {
  const key = `${probePrefix}${randomUUID()}`;
  const bytes = new Uint8Array(randomBytes(32));
  await one.put(key, bytes, { ...options, ifAbsent: true });
  try {
    if ((await other.head(key, options)) === undefined) return false;
    expectBytes(await other.get(key, options), bytes);
    return true;
  } finally {
    await one.delete([key], { purge: true }).catch(() => {});
  }
}

/** The time by the store's own clock, taken from an object that was just written. */
export async function timeOfStore(store: BlobStore, options: CallOptions = {}): Promise<Date> {
  const key = `${probePrefix}${randomUUID()}`;
  await store.put(key, new Uint8Array(1), { ...options, ifAbsent: true });
  try {
    const info = await store.head(key, options);
    if (!info) throw new EngineError('STORAGE_NOT_FOUND', 'The probe object was written but is not there.');
    return info.modifiedAt;
  } finally {
    await store.delete([key], { purge: true }).catch(() => {});
  }
}

async function timed(name: ProbeStepName, run: () => Promise<void>): Promise<ProbeStep> {
  const startedAtMs = performance.now();
  const done = (error: EngineError | undefined): ProbeStep => ({
    name,
    ok: error === undefined,
    durationMs: Math.round((performance.now() - startedAtMs) * 10) / 10,
    error,
  });
  try {
    await run();
    return done(undefined);
  } catch (error) {
    if (isEngineError(error)) return done(error);
    throw error;
  }
}

function expectBytes(actual: Uint8Array, expected: Uint8Array): void {
  if (Buffer.compare(actual, expected) !== 0)
    throw new EngineError('INTEGRITY_ERROR', 'The probe object came back with other bytes.');
}

async function expectListed(store: BlobStore, key: string, options: CallOptions): Promise<void> {
  for await (const info of store.list(key, options)) if (info.key === key) return;
  throw new EngineError('STORAGE_NOT_FOUND', 'The probe object was written but is not listed.');
}

async function expectLocks(store: BlobStore, options: CallOptions): Promise<void> {
  const ability = await store.lockAbility(options);
  if (ability.canLock) return;
  throw new EngineError('VALIDATION_ERROR', ability.reason, { details: { code: 'OBJECT_LOCK_UNAVAILABLE' } });
}

async function remove(
  store: BlobStore,
  key: string,
  options: CallOptions,
): Promise<Pick<ProbeStep, 'bucketKeepsVersions'>> {
  const { bucketKeepsVersions } = await store.delete([key], { ...options, purge: true });
  if (await store.head(key, options))
    throw new EngineError('STORAGE_PERMISSION_DENIED', 'The probe object is still there after its removal.');
  return bucketKeepsVersions === undefined ? {} : { bucketKeepsVersions };
}
