import {
  BackupReader,
  type BlobInfo,
  type BlobStore,
  backupIdOfKey,
  backupPrefix,
  backupsPrefix,
  isEngineError,
  manifestKey,
  probePrefix,
  segmentKey,
  shardKey,
  wholeView,
} from '@holdfast/engine';
import { dayMs, hourMs, minuteMs } from '../../../platform/durations.ts';
import { projectStore } from '../../projects/index.ts';
import { type DestinationRow, type OrphanObject, SamePlaces, storageStore, taskStore } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { copyStore, type KnownBackup } from './copy-store.ts';
import { isWholeInAny, type ProofOptions } from './prove-copy.ts';

/** An orphan, and whether a job of another service may still be writing it. */
interface FoundOrphan extends OrphanObject {
  isYoung: boolean;
  backupId: string | null;
}

export interface FindOptions extends Pick<ProofOptions, 'signal' | 'isThorough'> {
  after: string | undefined;
  /** Called for a folder that is left alone, with the reason. */
  onKept?: (backupId: string, reason: string) => void;
}

/** Another service may share the bucket, and its time limits for jobs are not known here. */
const jobAgeMsMin = dayMs;
const probeAgeMsMax = hourMs;

/**
 * Our objects that no backup owns, ascending by key. Looks only at names of our exact layout. A folder with a manifest
 * is a whole backup, which a rescan links, unless the catalogue has the backup in another place where its copy reads
 * well.
 */
export async function* findOrphans(
  context: BackupsContext,
  destination: DestinationRow,
  store: BlobStore,
  options: FindOptions,
): AsyncGenerator<FoundOrphan> {
  const { after, signal } = options;
  const list = { signal, ...(after === undefined ? {} : { startAfter: after }) };
  const nowMs = context.platform.clock.now().getTime();
  const ownership = new ObjectOwnership(context, destination, store, options);
  const ageMs = await jobAgeMs(context, destination);
  for await (const info of store.list(backupsPrefix, list)) {
    const backupId = backupIdOfKey(info.key);
    if (backupId === undefined || (await ownership.isOwned(backupId, info.key))) continue;
    const isYoung = nowMs - Math.max(startedAtMs(backupId), info.modifiedAt.getTime()) < ageMs;
    yield { ...asOrphan(info), backupId, isYoung };
  }
  for await (const info of store.list(probePrefix, list))
    if (nowMs - info.modifiedAt.getTime() > probeAgeMsMax) yield { ...asOrphan(info), backupId: null, isYoung: false };
}

function asOrphan({ key, size, modifiedAt }: BlobInfo): OrphanObject {
  return { key, bytes: size, lastModified: modifiedAt };
}

/** Twice the longest time that any job was given: no job can still be running. */
async function jobAgeMs({ platform: { database } }: BackupsContext, { organizationId }: DestinationRow) {
  const longestMs = await database.tenant(organizationId, async (transaction) =>
    Math.max(
      await copyStore.longestJobMs(transaction, organizationId),
      (await projectStore.longestTimeoutMinutes(transaction, organizationId)) * minuteMs,
    ),
  );
  return Math.max(jobAgeMsMin, 2 * longestMs);
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Our ids begin with the time when they were made. */
function startedAtMs(backupId: string): number {
  const time = backupId.slice('bkp_'.length).toLowerCase().slice(0, 10);
  return [...time].reduce((sum, character) => sum * 32 + alphabet.indexOf(character), 0);
}

type Owns = (key: string) => boolean;
const everything: Owns = () => true;
const nothing: Owns = () => false;

/** Decides whether objects in the folder of a backup are owned, one folder at a time. In doubt they are owned. */
export class ObjectOwnership {
  readonly #context: BackupsContext;
  readonly #destination: DestinationRow;
  readonly #store: BlobStore;
  readonly #options: FindOptions;
  readonly #places: SamePlaces;
  readonly #provenIn = new Map<string, Set<string>>();
  #current: { backupId: string; owns: Owns } = { backupId: '', owns: everything };

  constructor(context: BackupsContext, destination: DestinationRow, store: BlobStore, options: FindOptions) {
    this.#context = context;
    this.#destination = destination;
    this.#store = store;
    this.#options = options;
    this.#places = new SamePlaces(context.stores, store, options.signal);
  }

  async isOwned(backupId: string, key: string): Promise<boolean> {
    if (this.#current.backupId !== backupId) this.#current = { backupId, owns: await this.#ownerOf(backupId) };
    return this.#current.owns(key);
  }

  async #ownerOf(backupId: string): Promise<Owns> {
    const { database } = this.#context.platform;
    const known = await database.system((transaction) => copyStore.findAnywhere(transaction, backupId));
    if (!known) return this.#unlessWhole(backupId, 'no record knows it; a rescan registers it');
    if (known.isDeleted || known.organizationId !== this.#destination.organizationId) return everything;
    if (known.status === 'failed' || known.status === 'cancelled') {
      if (known.imported?.inPlace) return everything;
      return this.#unlessWhole(backupId, `its record says ${known.status}; a rescan links it`);
    }
    if (known.status !== 'completed') return everything;
    return (await this.#liesHere(known)) ? this.#unlisted(backupId) : this.#ifElsewhere(backupId, known);
  }

  async #unlessWhole(backupId: string, reason: string): Promise<Owns> {
    if ((await this.#store.head(manifestKey(backupId), this.#options)) === undefined) return nothing;
    this.#options.onKept?.(backupId, reason);
    return everything;
  }

  /** Two records may name the same place; a probe finds out. A destination that cannot be asked might be this place. */
  async #liesHere({ organizationId, destinationIds }: KnownBackup): Promise<boolean> {
    if (destinationIds.includes(this.#destination.id)) return true;
    const others = await this.#context.platform.database.tenant(organizationId, (transaction) =>
      storageStore.many(transaction, organizationId, destinationIds),
    );
    for (const other of others) if ((await this.#places.isSame(other)) !== false) return true;
    return false;
  }

  /** Objects that a dead worker left beside a whole backup are not owned. */
  async #unlisted(backupId: string): Promise<Owns> {
    const { signal } = this.#options;
    const { engine } = this.#context;
    try {
      const keys = await BackupKeyRing.load(this.#context, this.#destination.organizationId);
      const reader = await BackupReader.open({ store: this.#store, backupId, keys, codec: engine.codec, signal });
      const listed = new Set([manifestKey(backupId)]);
      for (const { id } of reader.body.shards) listed.add(shardKey(backupId, id));
      for (const { id } of reader.body.authUsers?.segments ?? []) listed.add(segmentKey(backupId, id));
      for await (const { id } of reader.descriptors(wholeView)) listed.add(segmentKey(backupId, id));
      return (key) => listed.has(key);
    } catch (error) {
      if (!isEngineError(error) || signal.aborted) throw error;
      this.#options.onKept?.(backupId, `its manifest cannot be read: ${error.message}`);
      return everything;
    }
  }

  async #ifElsewhere(backupId: string, { organizationId, destinationIds }: KnownBackup): Promise<Owns> {
    const { database } = this.#context.platform;
    const tasks = await database.tenant(organizationId, (transaction) =>
      taskStore.openOf(transaction, organizationId, this.#destination.id),
    );
    if (tasks.some(({ kind }) => kind === 'migrate')) return everything;
    const { signal, isThorough } = this.#options;
    const proof = { signal, isThorough, provenIn: this.#provenIn };
    // Somebody asked for two places. If one of them is lost, removing this copy would leave only one.
    for (const id of destinationIds) {
      if (await isWholeInAny(this.#context, organizationId, [id], backupId, proof)) continue;
      this.#options.onKept?.(backupId, 'the copy that the catalogue knows does not read well; a rescan links this one');
      return everything;
    }
    return nothing;
  }
}

/** The folder of a backup, as it appears in a task's failures. */
export function folderOf(backupId: string): string {
  return backupPrefix(backupId);
}
