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
import type { DestinationRow, OrphanObject, StoreOpener } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import type { ImportRequest, JobStatus } from '../tables.ts';

/** An orphan, and whether a job of somebody else might still be writing it. */
export interface FoundOrphan extends OrphanObject {
  isYoung: boolean;
  backupId: string | null;
}

/** No job runs longer; a backup that we do not know and that began earlier is nobody's any more. */
const jobAgeMsMax = 24 * 3_600_000;
const probePrefix = 'holdfast-probe-';
const probeAgeMsMax = 3_600_000;

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

interface KnownCopy {
  organization_id: string;
  status: JobStatus;
  deleted_at: Date | null;
  imported: ImportRequest | null;
  copy_status: string | null;
  type: DestinationRow['type'];
  bucket: string | null;
  prefix: string;
  path: string | null;
}

/** Who owns what lies in the folder of a backup. In doubt it is owned. */
async function judge(
  context: BackupsContext,
  destination: DestinationRow,
  store: BlobStore,
  backupId: string,
  signal: AbortSignal,
): Promise<Verdict> {
  const copies = await copiesOf(context, backupId);
  const [row] = copies;
  const kept = { backupId, owns: () => true };
  const orphaned = { backupId, owns: () => false };
  if (!row) {
    const isWhole = (await store.head(manifestKey(backupId), { signal })) !== undefined;
    return isWhole ? kept : { ...orphaned, isUnknown: true };
  }
  if (row.deleted_at) return orphaned;
  if (row.status === 'failed' || row.status === 'cancelled') return row.imported?.inPlace ? kept : orphaned;
  if (row.status !== 'completed') return kept;
  const here = placeOf(context.stores, destination);
  const isHere = copies.some((copy) => copy.copy_status !== 'failed' && placeOf(context.stores, copy) === here);
  if (!isHere) return (await isBeingFilled(context, destination)) ? kept : orphaned;
  if (row.organization_id !== destination.organizationId) return kept;
  const { ring } = await context.platform.database.tenant(destination.organizationId, (transaction) =>
    context.keys.ring(transaction, destination.organizationId),
  );
  const listed = await listedKeys(context, store, backupId, ring, signal);
  return listed ? { backupId, owns: (key) => listed.has(key) } : kept;
}

/** The same bucket may be a destination of several organizations, so the question goes to all of them. */
async function copiesOf(context: BackupsContext, backupId: string): Promise<KnownCopy[]> {
  return context.platform.database.system(async ({ client }) => {
    const { rows } = await client.query<KnownCopy>(
      `select b.organization_id, b.status, b.deleted_at, b.imported, c.status as copy_status, d.type, d.bucket, d.prefix, d.path
         from backups b left join backup_copies c on c.backup_id = b.id
         left join storage_destinations d on d.id = c.storage_destination_id
        where b.id = $1`,
      [backupId],
    );
    return rows;
  });
}

/** Endpoints can be spelled in several ways; leaving them out takes two places for one rather than one for two. */
function placeOf(
  stores: StoreOpener,
  { type, bucket, prefix, path }: Pick<DestinationRow, 'type' | 'bucket' | 'prefix' | 'path'>,
): string {
  if (type === 'local') return `local ${stores.localFolder(path ?? '')}`;
  return `${type === 'gcs' ? 'gcs' : 's3'} ${bucket} ${(prefix ?? '').replace(/\/+$/, '')}`;
}

async function isBeingFilled(context: BackupsContext, destination: DestinationRow): Promise<boolean> {
  return context.platform.database.tenant(destination.organizationId, async ({ client }) => {
    const { rowCount } = await client.query(
      `select 1 from storage_tasks where organization_id = $1 and to_storage_destination_id = $2 and status in ('pending', 'running') limit 1`,
      [destination.organizationId, destination.id],
    );
    return rowCount !== 0;
  });
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
