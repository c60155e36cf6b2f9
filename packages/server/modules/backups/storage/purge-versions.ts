import {
  backupIdOfKey,
  backupsPrefix,
  type HiddenObject,
  manifestKey,
  type PurgeOutcome,
  probePrefix,
  type VersionedBlobStore,
} from '@holdfast/engine';
import { systemActor } from '../../audit/index.ts';
import type { TaskResult, TaskRun } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { copyStore } from './copy-store.ts';
import { folderOf, ObjectOwnership } from './orphan-objects.ts';

const objectsPerCall = 200;
const failuresMax = 100;
const lookingPercent = 10;
const removingPercent = 50;

/**
 * Removes hidden versions for good: versions of our objects that have no current version and that no backup needs. The
 * same rules as in a sweep decide what is needed. Locked and held versions stay. A dry run removes nothing.
 */
export async function purgeVersions(context: BackupsContext, run: TaskRun): Promise<TaskResult> {
  const { destination, signal, onProgress, task } = run;
  const dryRun = task.result?.dryRun === true;
  const store = await context.stores.open(destination);
  const purge = new Purge(store, signal, dryRun, task.result);
  const ownership = new ObjectOwnership(context, destination, store, {
    after: undefined,
    signal,
    isThorough: !dryRun,
    onKept: (backupId, reason) => purge.keep(folderOf(backupId), reason),
  });
  try {
    await onProgress(lookingPercent, 'Looking', 0, purge.result);
    const strangers = await countStrangers(context, store, signal);
    for await (const object of hiddenObjects(store, signal)) {
      const owner = backupIdOfKey(object.key);
      const reason = owner === undefined ? undefined : await whyKept(context, ownership, owner, object.key, strangers);
      if (reason === undefined) await purge.add(object);
      else purge.skip(object, folderOf(owner!), reason);
      if (purge.isFresh) await onProgress(removingPercent, 'Removing', purge.result.bytes, purge.result);
    }
    await purge.flush();
  } finally {
    await store.close();
  }
  await note(context, run, purge.result);
  return purge.result;
}

/** Only names of our exact layout, and objects that probes left. */
async function* hiddenObjects(store: VersionedBlobStore, signal: AbortSignal): AsyncGenerator<HiddenObject> {
  for await (const object of store.listHidden(backupsPrefix, { signal }))
    if (backupIdOfKey(object.key) !== undefined) yield object;
  yield* store.listHidden(probePrefix, { signal });
}

/**
 * Counts whole backups here without a record. While there are any, nothing of an unknown backup is removed: one of them
 * may build on it.
 */
async function countStrangers(
  { platform: { database } }: BackupsContext,
  store: VersionedBlobStore,
  signal: AbortSignal,
): Promise<number> {
  let strangers = 0;
  for await (const { key } of store.list(backupsPrefix, { signal })) {
    const backupId = backupIdOfKey(key);
    if (backupId === undefined || key !== manifestKey(backupId)) continue;
    const known = await database.system((transaction) => copyStore.findAnywhere(transaction, backupId));
    if (!known) strangers += 1;
  }
  return strangers;
}

async function whyKept(
  { platform: { database } }: BackupsContext,
  ownership: ObjectOwnership,
  backupId: string,
  key: string,
  strangers: number,
): Promise<string | undefined> {
  if (await ownership.isOwned(backupId, key))
    return 'it belongs to a backup that is known; bring it back if it is missing there';
  if (strangers === 0) return undefined;
  const known = await database.system((transaction) => copyStore.findAnywhere(transaction, backupId));
  if (known) return undefined;
  return `${strangers} backups in this destination are not known here and may build on it; rescan first`;
}

type PurgeResult = Required<Pick<TaskResult, 'found' | 'removed' | 'skipped' | 'locked' | 'bytes' | 'failures'>> &
  Pick<TaskResult, 'dryRun' | 'removable'>;

/** Counts over all attempts, including what a worker removed before it died. */
class Purge {
  readonly result: PurgeResult;
  readonly #store: VersionedBlobStore;
  readonly #signal: AbortSignal;
  readonly #reported = new Set<string>();
  #pending: HiddenObject[] = [];

  constructor(store: VersionedBlobStore, signal: AbortSignal, dryRun: boolean, former: TaskResult | null) {
    this.#store = store;
    this.#signal = signal;
    const { removed = 0, bytes = 0 } = dryRun ? {} : (former ?? {});
    this.result = { found: removed, removed, skipped: 0, locked: 0, bytes, failures: [] };
    if (dryRun) Object.assign(this.result, { dryRun, removable: 0 });
  }

  /** A batch was just removed. */
  get isFresh(): boolean {
    return this.#pending.length === 0 && this.result.removed > 0;
  }

  keep(folder: string, reason: string): void {
    if (this.#reported.has(folder)) return;
    this.#reported.add(folder);
    if (this.result.failures.length < failuresMax) this.result.failures.push({ key: folder, reason });
  }

  skip({ versions }: HiddenObject, folder: string, reason: string): void {
    this.result.found += versions.length;
    this.result.skipped += versions.length;
    this.keep(folder, reason);
  }

  async add(object: HiddenObject): Promise<void> {
    this.result.found += object.versions.length;
    this.#pending.push(object);
    if (this.#pending.length >= objectsPerCall) await this.flush();
  }

  async flush(): Promise<void> {
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    const { dryRun = false } = this.result;
    const outcome = await this.#store.purgeHidden(batch, { signal: this.#signal, dryRun });
    this.#count(batch, outcome);
  }

  #count(batch: readonly HiddenObject[], outcome: PurgeOutcome): void {
    const { result } = this;
    if (result.dryRun) result.removable = (result.removable ?? 0) + outcome.removed;
    else result.removed += outcome.removed;
    result.bytes += outcome.bytes;
    result.locked += outcome.locked;
    for (const key of outcome.lockedKeys) this.keep(key, 'under lock or legal hold');
    const returned = batch.filter(({ key }) => outcome.returnedKeys.includes(key));
    for (const { key, versions } of returned) {
      result.skipped += versions.length;
      this.keep(key, 'it has come back meanwhile');
    }
  }
}

async function note(context: BackupsContext, { task, destination }: TaskRun, result: PurgeResult): Promise<void> {
  if (result.dryRun) return;
  const { removed, bytes, locked, skipped } = result;
  await context.platform.database.tenant(destination.organizationId, (transaction) =>
    context.audit.write(transaction, {
      organizationId: destination.organizationId,
      action: 'storage.versions_purged',
      actor: systemActor,
      resource: { type: 'storage_destination', id: destination.id },
      origin: null,
      details: { taskId: task.id, removed, bytes, locked, skipped },
    }),
  );
}
