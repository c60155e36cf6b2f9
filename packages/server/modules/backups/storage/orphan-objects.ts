import {
  BackupReader,
  type BlobInfo,
  type BlobStore,
  backupPrefix,
  backupsPrefix,
  isEngineError,
  type KeyRing,
  manifestKey,
  wholeView,
} from '@holdfast/engine';
import { dayMs, hourMs } from '../../../platform/durations.ts';
import {
  type DestinationRow,
  type OrphanObject,
  type StoreOpener,
  storageStore,
  taskStore,
} from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { copyStore } from './copy-store.ts';

/** An orphan, and whether a job of somebody else might still be writing it. */
export interface FoundOrphan extends OrphanObject {
  isYoung: boolean;
  backupId: string | null;
}

/** No job runs longer; a backup that we do not know and that began earlier is nobody's any more. */
const jobAgeMsMax = dayMs;
const probePrefix = 'holdfast-probe-';
const probeAgeMsMax = hourMs;

/**
 * Objects of ours that no backup owns, ascending by key. A folder with a manifest that we do not know is a whole backup,
 * which a rescan registers; it is no orphan. Neither is anything of a backup that is being made.
 */
export async function* findOrphans(
  context: BackupsContext,
  destination: DestinationRow,
  store: BlobStore,
  { after, signal }: { after: string | undefined; signal: AbortSignal },
): AsyncGenerator<FoundOrphan> {
  const options = { signal, ...(after === undefined ? {} : { startAfter: after }) };
  const nowMs = context.platform.clock.now().getTime();
  let verdict: Verdict = { backupId: '', owns: () => true };
  for await (const info of store.list(backupsPrefix, options)) {
    const backupId = info.key.slice(backupsPrefix.length).split('/')[0] as string;
    if (backupId !== verdict.backupId) verdict = await judge(context, destination, store, backupId, signal);
    if (verdict.owns(info.key)) continue;
    const isYoung = verdict.isUnknown === true && nowMs - startedAtMs(backupId) < jobAgeMsMax;
    yield { ...asOrphan(info), backupId, isYoung };
  }
  for await (const info of store.list(probePrefix, options))
    if (nowMs - info.modifiedAt.getTime() > probeAgeMsMax) yield { ...asOrphan(info), backupId: null, isYoung: false };
}

function asOrphan({ key, size, modifiedAt }: BlobInfo): OrphanObject {
  return { key, bytes: size, lastModified: modifiedAt };
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Our ids begin with their time. What is no id of ours never belonged to a job. */
function startedAtMs(backupId: string): number {
  const time = /^bkp_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}$/.exec(backupId)?.[1];
  if (time === undefined) return 0;
  return [...time].reduce((sum, character) => sum * 32 + alphabet.indexOf(character), 0);
}

interface Verdict {
  backupId: string;
  owns(key: string): boolean;
  isUnknown?: boolean;
}

/** Who owns what lies in the folder of a backup. In doubt it is owned. */
async function judge(
  context: BackupsContext,
  destination: DestinationRow,
  store: BlobStore,
  backupId: string,
  signal: AbortSignal,
): Promise<Verdict> {
  const { copies, places } = await context.platform.database.system(async (transaction) => {
    const copies = await copyStore.ofBackup(transaction, backupId);
    const ids = copies.flatMap(({ storageDestinationId }) => storageDestinationId ?? []);
    const rows = await storageStore.manyAnywhere(transaction, ids);
    return { copies, places: new Map(rows.map((place) => [place.id, placeOf(context.stores, place)])) };
  });
  const [row] = copies;
  const kept = { backupId, owns: () => true };
  const orphaned = { backupId, owns: () => false };
  if (!row) {
    const isWhole = (await store.head(manifestKey(backupId), { signal })) !== undefined;
    return isWhole ? kept : { ...orphaned, isUnknown: true };
  }
  if (row.deletedAt) return orphaned;
  if (row.status === 'failed' || row.status === 'cancelled') return row.imported?.inPlace ? kept : orphaned;
  if (row.status !== 'completed') return kept;
  const here = placeOf(context.stores, destination);
  const isHere = copies.some(
    ({ copyStatus, storageDestinationId }) =>
      copyStatus !== 'failed' && places.get(storageDestinationId ?? '') === here,
  );
  if (!isHere) return (await isBeingFilled(context, destination)) ? kept : orphaned;
  if (row.organizationId !== destination.organizationId) return kept;
  const { ring } = await context.platform.database.tenant(destination.organizationId, (transaction) =>
    context.keys.ring(transaction, destination.organizationId),
  );
  const listed = await listedKeys(context, store, backupId, ring, signal);
  return listed ? { backupId, owns: (key) => listed.has(key) } : kept;
}

/** Endpoints can be spelled in several ways; leaving them out takes two places for one rather than one for two. */
function placeOf(
  stores: StoreOpener,
  { type, bucket, prefix, path }: Pick<DestinationRow, 'type' | 'bucket' | 'prefix' | 'path'>,
): string {
  if (type === 'local') return `local ${stores.localFolder(path ?? '')}`;
  return `${type === 'gcs' ? 'gcs' : 's3'} ${bucket} ${(prefix ?? '').replace(/\/+$/, '')}`;
}

async function isBeingFilled(context: BackupsContext, { organizationId, id }: DestinationRow): Promise<boolean> {
  const tasks = await context.platform.database.tenant(organizationId, (transaction) =>
    taskStore.openOf(transaction, organizationId, id),
  );
  return tasks.some(({ toStorageDestinationId }) => toStorageDestinationId === id);
}

async function listedKeys(
  context: BackupsContext,
  store: BlobStore,
  backupId: string,
  keys: KeyRing,
  signal: AbortSignal,
): Promise<Set<string> | undefined> {
  try {
    const reader = await BackupReader.open({ store, backupId, keys, codec: context.engine.codec, signal });
    const prefix = backupPrefix(backupId);
    const listed = new Set([manifestKey(backupId)]);
    for (const { id } of reader.body.shards) listed.add(`${prefix}shards/${id}`);
    for (const { id } of reader.body.authUsers?.segments ?? []) listed.add(`${prefix}segments/${id}`);
    for await (const { id } of reader.descriptors(wholeView)) listed.add(`${prefix}segments/${id}`);
    return listed;
  } catch (error) {
    if (isEngineError(error) && !signal.aborted) return undefined;
    throw error;
  }
}
