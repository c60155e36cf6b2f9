import type { SegmentDescriptor } from '../../format/descriptor.ts';
import { countsOf } from '../../format/manifest-counts.ts';
import type { OpenedSegment } from '../../format/segment.ts';
import { freeBytes } from '../../memory/free-bytes.ts';
import { EngineError, isEngineError, throwIfCancelled } from '../../ports/errors.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import { type Selection, wholeView } from '../view/selection.ts';
import type { View } from '../view/view.ts';

export interface VerifyResult {
  readonly isIntact: boolean;
  readonly backups: number;
  readonly segments: number;
  readonly documents: number;
  readonly authUsers: number;
  readonly storedBytes: number;
  /** A sample, at most verifyErrorsMax; `errorCount` is exact. */
  readonly errors: readonly { readonly backupId: string; readonly segment: string | null; readonly message: string }[];
  readonly errorCount: number;
}

const verifyErrorsMax = 100;
const readsAhead = 2;

export interface VerifyOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: {
    readonly segments: number;
    readonly segmentsTotal: number;
    readonly bytes: number;
  }) => void;
}

/**
 * Decrypts, hashes and counts every segment of a chain, and counts the documents of its view. Damage is collected and
 * not thrown: the result names every damaged segment. Other errors (storage away, wrong key) are thrown.
 */
export async function verifyChain(
  chain: readonly BackupReader[],
  view: View,
  options: VerifyOptions = {},
): Promise<VerifyResult> {
  const errors: VerifyResult['errors'][number][] = [];
  let errorCount = 0;
  let segments = 0;
  let storedBytes = 0;
  const segmentsTotal = chain.reduce(
    (sum, { body }) => sum + body.counts.segments + (body.authUsers?.segments.length ?? 0),
    0,
  );
  const note = (backupId: string, segment: string | null) => (error: unknown) => {
    if (!isEngineError(error, 'INTEGRITY_ERROR')) throw error;
    errorCount += 1;
    if (errors.length < verifyErrorsMax) errors.push({ backupId, segment, message: error.message });
  };
  for (const backup of chain) {
    const check = async (descriptor: SegmentDescriptor) => {
      throwIfCancelled(options.signal);
      await backup.read(descriptor, options.signal).then(discard, note(backup.backupId, descriptor.id));
      segments += 1;
      storedBytes += descriptor.headerBytes + descriptor.indexBytes + descriptor.dataBytes;
      options.onProgress?.({ segments, segmentsTotal, bytes: storedBytes });
    };
    await verifyBackup(backup, check).catch(note(backup.backupId, null));
  }
  const documents =
    errorCount === 0
      ? await countView(chain, view, options.signal).catch(note(chain.at(-1)!.backupId, null))
      : undefined;
  const authUsers = chain.at(-1)!.body.authUsers?.count ?? 0;
  return {
    isIntact: errorCount === 0,
    backups: chain.length,
    segments,
    documents: documents ?? 0,
    authUsers,
    storedBytes,
    errors,
    errorCount,
  };
}

/**
 * Reads every byte of one backup in a store, and throws at the first fault. Its parents are not read: before another
 * copy is removed, the whole chain must be proved.
 */
export async function proveBackup(backup: BackupReader, options: Pick<VerifyOptions, 'signal'> = {}): Promise<void> {
  await verifyBackup(backup, async (descriptor) => {
    throwIfCancelled(options.signal);
    discard(await backup.read(descriptor, options.signal));
  });
}

/** Reads all segments of a chain that a selection may need, and throws at the first fault. */
export async function proveSelected(
  chain: readonly BackupReader[],
  selection: Selection,
  options: Pick<VerifyOptions, 'signal'> = {},
): Promise<void> {
  for (const backup of chain)
    for await (const descriptor of backup.descriptors(selection)) {
      throwIfCancelled(options.signal);
      discard(await backup.read(descriptor, options.signal));
    }
}

function discard({ data, index }: OpenedSegment): void {
  freeBytes(data);
  freeBytes(index);
}

async function verifyBackup(
  backup: BackupReader,
  check: (descriptor: SegmentDescriptor) => Promise<void>,
): Promise<void> {
  const seen: SegmentDescriptor[] = [];
  const users = backup.body.authUsers?.segments ?? [];
  const running = new Set<Promise<void>>();
  const start = async (descriptor: SegmentDescriptor) => {
    const checking: Promise<void> = check(descriptor).finally(() => running.delete(checking));
    running.add(checking);
    // The first error is reported. The others have the same cause, and nobody waits for them.
    checking.catch(() => undefined);
    if (running.size >= readsAhead) await Promise.race(running);
  };
  for await (const descriptor of backup.descriptors(wholeView)) {
    seen.push(descriptor);
    await start(descriptor);
  }
  for (const descriptor of users) await start(descriptor);
  await Promise.all(running);
  assertTotals(backup, seen);
}

function assertTotals({ body, backupId }: BackupReader, segments: readonly SegmentDescriptor[]): void {
  const counted = countsOf(body.counts.documents, segments, body.authUsers?.segments ?? []);
  const isSame = (Object.keys(counted) as (keyof typeof counted)[]).every((key) => counted[key] === body.counts[key]);
  const users = (body.authUsers?.segments ?? []).reduce((sum, { records }) => sum + records, 0);
  if (isSame && users === (body.authUsers?.count ?? 0)) return;
  throw new EngineError('INTEGRITY_ERROR', `The segments of ${backupId} do not add up to what its manifest says.`);
}

/** Checks that the view has exactly as many documents as the manifest says. */
async function countView(chain: readonly BackupReader[], view: View, signal: AbortSignal | undefined): Promise<number> {
  const [only] = view.layers;
  // A single backup needs no second pass: every segment was just read, in order and without overlap.
  const isAlone = view.layers.length === 1 && chain.length === 1 && only === chain[0];
  const documents = isAlone ? chain[0]!.body.counts.puts : await view.count(signal ? { signal } : {});
  const expected = view.body?.counts.documents ?? documents;
  if (documents !== expected)
    throw new EngineError('INTEGRITY_ERROR', `The view has ${documents} documents instead of ${expected}.`);
  return documents;
}
