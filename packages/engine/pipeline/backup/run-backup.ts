import { type KeyRing, newDataKey } from '../../crypto/key-ring.ts';
import { manifestKey } from '../../format/object-keys.ts';
import type { AuthUserSource } from '../../ports/auth-users.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import { type Clock, systemClock } from '../../ports/clock.ts';
import { type DocumentSource, type Scope, wholeDatabase } from '../../ports/document-source.ts';
import { EngineError, throwIfCancelled } from '../../ports/errors.ts';
import type { Instant } from '../../ports/instant.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { bufferBytesFor, fullSegmentBytes } from '../segments/segment-writer.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import { viewOfChain } from '../view/open-view.ts';
import { backUpUsers } from './auth-user-segments.ts';
import { type BackupPlan, planBackup } from './backup-plan.ts';
import { finishBackup } from './finish-backup.ts';
import { type RangeState, runRange } from './run-range.ts';
import type { WrittenManifest } from './write-manifest.ts';
import { type WrittenObjects, withCleanupOnFailure } from './written-objects.ts';

export interface RunBackupOptions {
  readonly source: DocumentSource;
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly backupId: string;
  readonly scope?: Scope;
  /** The chain to build on, oldest first; absent or empty: a full backup. */
  readonly parentChain?: readonly BackupReader[];
  readonly previousCuts?: readonly string[];
  readonly authUsers?: AuthUserSource;
  readonly snapshotTime?: Instant;
  /** Ranges read at the same time. */
  readonly concurrency?: number;
  readonly targetRanges?: number;
  readonly segmentBytes?: number;
  readonly segmentsPerShard?: number;
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly onPlan?: (plan: BackupPlan) => void;
  readonly onProgress?: (progress: BackupProgress) => void;
}

export interface BackupProgress {
  readonly documents: number;
  readonly bytes: number;
  readonly rangesDone: number;
  readonly ranges: number;
}

const defaultConcurrency = 3;
/** One buffer is being filled per range; these further ones are being sealed or stored. */
const buffersBeyondRanges = 4;

/** A whole backup in one process: plan, ranges, manifest. The control plane runs the same three steps as jobs. */
export async function runBackup(given: RunBackupOptions): Promise<WrittenManifest> {
  return await withCleanupOnFailure(given, async (own) => {
    const options = { ...given, store: own.store };
    const read = await readDatabase(options);
    const { keys, backupId, lock, signal, segmentsPerShard } = options;
    const written = await finishBackup({
      ...read,
      store: own.store,
      envelope: await keys.wrap(backupId, read.dataKey),
      completedAt: (options.clock ?? systemClock).now(),
      ...(lock ? { lock } : {}),
      ...(signal ? { signal } : {}),
      ...(segmentsPerShard ? { segmentsPerShard } : {}),
    });
    await requireParents(options, own);
    return written;
  });
}

async function readDatabase(options: RunBackupOptions) {
  const { source, store, codec, backupId, signal, parentChain = [] } = options;
  const clock = options.clock ?? systemClock;
  const concurrency = options.concurrency ?? defaultConcurrency;
  const parent = parentChain.at(-1);
  const plan = await planBackup({
    source,
    backupId,
    scope: options.scope ?? wholeDatabase,
    createdAt: clock.now(),
    targetRanges: options.targetRanges ?? concurrency * 2,
    ...(parent
      ? { parent: { body: parent.body, manifestSha256: parent.manifestSha256, chainLength: parentChain.length } }
      : {}),
    ...(options.previousCuts ? { previousCuts: options.previousCuts } : {}),
    ...(options.snapshotTime ? { snapshotTime: options.snapshotTime } : {}),
    ...(signal ? { signal } : {}),
  });
  options.onPlan?.(plan);
  const dataKey = newDataKey();
  const bufferBytes = bufferBytesFor(options.segmentBytes ?? fullSegmentBytes);
  const buffers = new BufferPool(concurrency + buffersBeyondRanges, bufferBytes);
  const ranges = await runRanges(options, plan, dataKey, buffers, concurrency);
  const context = { ownerId: backupId, dataKey, database: plan.database };
  const shared = { store, ...(options.lock ? { lock: options.lock } : {}), ...(signal ? { signal } : {}) };
  const users = options.authUsers
    ? await backUpUsers(options.authUsers, { ...shared, codec, buffers, context })
    : undefined;
  throwIfCancelled(signal);
  return { plan, ranges, dataKey, authUsers: users?.section ?? null, warnings: users?.warnings ?? [] };
}

/**
 * Checks the parents after the new manifest is visible: from then on nobody deletes them. If one was deleted before
 * that, the new backup is removed too.
 */
async function requireParents(
  { store, backupId, parentChain = [] }: RunBackupOptions,
  own: WrittenObjects,
): Promise<void> {
  for (const parent of parentChain) {
    if (await store.head(manifestKey(parent.backupId))) continue;
    await own.remove();
    throw new EngineError(
      'STORAGE_CONFLICT',
      `${parent.backupId}, which ${backupId} builds on, was deleted while it was made, so it was removed again.`,
    );
  }
}

async function runRanges(
  options: RunBackupOptions,
  plan: BackupPlan,
  dataKey: Uint8Array,
  buffers: BufferPool,
  concurrency: number,
): Promise<RangeState[]> {
  const { source, store, codec, parentChain = [], onProgress } = options;
  const parentView = parentChain.length > 0 ? viewOfChain(parentChain) : undefined;
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const progress = { documents: 0, bytes: 0, rangesDone: 0, ranges: plan.ranges.length };
  const onRead = (documents: number, bytes: number) => {
    progress.documents += documents;
    progress.bytes += bytes;
    onProgress?.({ ...progress });
  };
  const waiting = plan.ranges.keys();
  const states: RangeState[] = [];
  const shared = { plan, source, store, codec, dataKey, buffers, onRead, signal };
  const work = async () => {
    for (const range of waiting) {
      const extra = {
        ...(parentView ? { parentView } : {}),
        ...(options.lock ? { lock: options.lock } : {}),
        ...(options.segmentBytes ? { segmentBytes: options.segmentBytes } : {}),
      };
      states.push(await runRange({ ...shared, ...extra, range }));
      progress.rangesDone += 1;
      onProgress?.({ ...progress });
    }
  };
  const workers = Array.from({ length: Math.min(concurrency, plan.ranges.length) }, async () => {
    try {
      await work();
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
  const outcomes = await Promise.allSettled(workers);
  throwFirst(outcomes, options.signal);
  return states;
}

/** The first real error, not the cancellations that it caused in the other workers. */
function throwFirst(outcomes: readonly PromiseSettledResult<void>[], signal: AbortSignal | undefined): void {
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as unknown);
  if (failures.length === 0) return;
  throwIfCancelled(signal);
  throw failures.find((error) => (error as { code?: string }).code !== 'CANCELLED') ?? failures[0];
}
