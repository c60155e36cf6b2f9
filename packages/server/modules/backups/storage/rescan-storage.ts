import type { AuditAction } from '@holdfast/contract';
import {
  type BackupReader,
  type BlobStore,
  type CatalogueEntry,
  describeBackup,
  finishedBackups,
  isEngineError,
  type KeyRing,
  manifestKey,
  mapAhead,
  openChain,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { systemActor } from '../../audit/index.ts';
import { toJobError } from '../../job-error.ts';
import { isLimitReached } from '../../organizations/index.ts';
import {
  type DestinationRow,
  SamePlaces,
  storageStore,
  type TaskResult,
  type TaskRun,
  withStore,
} from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import { requireComplete } from '../contents/manifest-columns.ts';
import { admitVerifications, verifyAgain } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { rewrapIfOlder } from '../keys/backup-keys.ts';
import { adoptKeys } from '../keys/key-copies.ts';
import { copyStore, type KnownBackup } from './copy-store.ts';
import { type FoundBackup, findLock, registerBackup, reviveBackup } from './register-backup.ts';

const failuresMax = 100;
/** Backups examined ahead of the one being registered. */
const lookedAheadMax = 4;

/** A backup that was found here. Its manifest is opened only when the catalogue does not know that it is here. */
interface Found {
  readonly backupId: string;
  readonly known: KnownBackup | undefined;
  readonly entry: CatalogueEntry | undefined;
}

/**
 * Finds finished backups in the destination. Registers unknown ones under their own ids, and links those that the
 * catalogue has lost or has elsewhere. When the project is unknown too, it is created without a connection, so that its
 * backups can be read and restored elsewhere.
 */
export async function rescanStorage(context: BackupsContext, run: TaskRun): Promise<TaskResult> {
  const { destination, signal, onProgress } = run;
  const { organizationId } = destination;
  const store = await context.stores.open(destination);
  try {
    const { unopened } = await adoptKeys(context, organizationId, store, signal);
    const { ring } = await context.platform.database.tenant(organizationId, (transaction) =>
      context.keys.ring(transaction, organizationId),
    );
    const rescan = new Rescan(context, destination, store, ring, signal);
    const finished = finishedBackups(store, { signal });
    for await (const found of mapAhead(finished, lookedAheadMax, (backupId) => rescan.look(backupId))) {
      if (found) await rescan.take(found);
      await onProgress(50, 'Registering', rescan.result.bytes);
    }
    rescan.requireSome(unopened);
    await rescan.failMissingCopies();
    return rescan.result;
  } finally {
    await store.close();
  }
}

class Rescan {
  readonly result = {
    found: 0,
    registered: 0,
    relinked: 0,
    missing: 0,
    bytes: 0,
    failures: [] as { key: string; reason: string }[],
  };
  readonly #context: BackupsContext;
  readonly #destination: DestinationRow;
  readonly #store: BlobStore;
  readonly #keys: KeyRing;
  readonly #signal: AbortSignal;
  readonly #places: SamePlaces;
  readonly #seen = new Set<string>();
  readonly #complete = new Map<string, Promise<void>>();
  #unopened = 0;

  constructor(
    context: BackupsContext,
    destination: DestinationRow,
    store: BlobStore,
    keys: KeyRing,
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#destination = destination;
    this.#store = store;
    this.#keys = keys;
    this.#signal = signal;
    this.#places = new SamePlaces(context.stores, store, signal);
  }

  /** Throws when there are backups but no key opens any of them: that is no success. */
  requireSome(unopenedKeys: number): void {
    const { found, failures } = this.result;
    if (found === 0 || this.#unopened < found) return;
    const hint = unopenedKeys > 0 ? ' Their keys lie here too, sealed under another master key.' : '';
    throw new Problem('DECRYPTION_ERROR', `${found} backups lie here, and no key at hand opens any of them.${hint}`, {
      details: { found, failures: failures.slice(0, 10) },
    });
  }

  /** Undefined when it was removed just now. */
  async look(backupId: string): Promise<Found | undefined> {
    const { database } = this.#context.platform;
    const known = await database.system((transaction) => copyStore.findAnywhere(transaction, backupId));
    if (known && !(await this.#isLost(known))) return { backupId, known, entry: undefined };
    const { codec } = this.#context.engine;
    const entry = await describeBackup(this.#store, backupId, this.#keys, codec, { signal: this.#signal });
    return entry && { backupId, known, entry };
  }

  async take({ backupId, known, entry }: Found): Promise<void> {
    this.result.found++;
    this.#seen.add(backupId);
    if (!entry) return;
    const { body, problem } = entry;
    if (!body) {
      if (problem?.code === 'DECRYPTION_ERROR') this.#unopened++;
      this.#fail(backupId, problem ? `${problem.code}: ${problem.message}` : 'cannot be read');
      return;
    }
    try {
      await this.#link(backupId, known);
      if (known) this.result.relinked++;
      else this.result.registered++;
      this.result.bytes += body.counts.storedBytes;
    } catch (error) {
      const isBroken = isEngineError(error, 'INTEGRITY_ERROR') || isEngineError(error, 'DECRYPTION_ERROR');
      if (!isBroken && !isLimitReached(error)) throw error;
      this.#fail(backupId, error.message);
    }
  }

  /** Marks copies as failed that should be here and are not. A backup without another copy is lost. */
  async failMissingCopies(): Promise<void> {
    const { database } = this.#context.platform;
    const { organizationId, id } = this.#destination;
    const said = await database.tenant(organizationId, (transaction) =>
      copyStore.completedIn(transaction, this.#destination),
    );
    for (const { id: backupId } of said) {
      if (this.#seen.has(backupId)) continue;
      // It may have been completed since the listing began.
      if ((await this.#store.head(manifestKey(backupId), { signal: this.#signal })) !== undefined) continue;
      await database.tenant(organizationId, async (transaction) => {
        await backupStore.updateCopy(transaction, organizationId, backupId, id, { status: 'failed', error: lost() });
        const copies = await backupStore.copies(transaction, organizationId, [backupId]);
        if (!copies.some(({ status }) => status === 'completed'))
          await verifyAgain(this.#context, transaction, organizationId, backupId);
        await this.#note(transaction, 'backup.copy_missing', backupId, {});
      });
      this.result.missing++;
    }
    if (this.result.missing > 0) await admitVerifications(this.#context.platform);
  }

  /**
   * Whether the catalogue should link it: it is known, but not in this place. Deleted backups are being removed, and
   * backups of another organization are none of ours.
   */
  async #isLost({ organizationId, isDeleted, status, destinationIds, imported }: KnownBackup): Promise<boolean> {
    if (isDeleted || organizationId !== this.#destination.organizationId) return false;
    if (status === 'failed' || status === 'cancelled') return !imported?.inPlace;
    if (status !== 'completed' || destinationIds.includes(this.#destination.id)) return false;
    for (const other of await this.#destinations(destinationIds)) if (await this.#places.isSame(other)) return false;
    return true;
  }

  async #link(backupId: string, known: KnownBackup | undefined): Promise<void> {
    const chain = await openChain({
      store: this.#store,
      backupId,
      keys: this.#keys,
      codec: this.#context.engine.codec,
      signal: this.#signal,
    });
    const reader = chain.at(-1)!;
    for (const one of chain) await this.#requireComplete(one);
    const gone = known?.status === 'completed' ? await this.#goneFrom(known, backupId) : [];
    const found = await findLock(this.#store, this.#destination, reader, this.#signal);
    const { organizationId } = this.#destination;
    await this.#context.platform.database.tenant(organizationId, async (transaction) => {
      if (!known) return this.#register(transaction, found);
      for (const id of gone)
        await backupStore.updateCopy(transaction, organizationId, backupId, id, { status: 'failed', error: lost() });
      if (known.status !== 'completed') await reviveBackup(this.#context, transaction, this.#destination, found);
      else {
        const now = this.#context.platform.clock.now();
        const { lockedUntil } = found;
        await copyStore.link(transaction, this.#destination, backupId, { now, lockedUntil });
        const row = await backupStore.get(transaction, organizationId, backupId);
        await rewrapIfOlder(this.#context.platform.queue, transaction, this.#destination, row, reader.envelope);
      }
      await this.#note(transaction, 'backup.relinked', backupId, { was: known.status, gone });
    });
  }

  /** Parents must be complete too; each is checked once. */
  #requireComplete(reader: BackupReader): Promise<void> {
    const { backupId } = reader;
    const looked = this.#complete.get(backupId) ?? requireComplete(this.#store, reader, this.#signal);
    this.#complete.set(backupId, looked);
    return looked;
  }

  async #register(transaction: Transaction, found: FoundBackup): Promise<void> {
    const { organizationId } = this.#destination;
    const project = await this.#context.projects.adopt(transaction, organizationId, found.reader.body.database);
    const row = await registerBackup(this.#context, transaction, this.#destination, project.id, found);
    await this.#note(transaction, 'backup.registered', row.id, { projectId: project.id });
  }

  /** The destinations that should hold the backup and do not. One that cannot be asked is left as it is. */
  async #goneFrom({ destinationIds }: KnownBackup, backupId: string): Promise<string[]> {
    const gone: string[] = [];
    for (const other of await this.#destinations(destinationIds)) {
      const isThere = await this.#within(other, (store) => store.head(manifestKey(backupId), { signal: this.#signal }));
      if (isThere !== null && isThere === undefined) gone.push(other.id);
    }
    return gone;
  }

  async #destinations(ids: readonly string[]): Promise<DestinationRow[]> {
    const { organizationId } = this.#destination;
    return this.#context.platform.database.tenant(organizationId, (transaction) =>
      storageStore.many(transaction, organizationId, ids),
    );
  }

  /** Null when the other destination does not answer. */
  async #within<Result>(other: DestinationRow, work: (store: BlobStore) => Promise<Result>): Promise<Result | null> {
    try {
      return await withStore(this.#context.stores, other, work);
    } catch (error) {
      if (this.#signal.aborted || !isEngineError(error)) throw error;
      return null;
    }
  }

  #fail(backupId: string, reason: string): void {
    if (this.result.failures.length < failuresMax)
      this.result.failures.push({ key: manifestKey(backupId), reason: reason.slice(0, 2000) });
  }

  async #note(transaction: Transaction, action: AuditAction, backupId: string, details: object): Promise<void> {
    await this.#context.audit.write(transaction, {
      organizationId: this.#destination.organizationId,
      action,
      actor: systemActor,
      resource: { type: 'backup', id: backupId },
      origin: null,
      details: { ...details, storageDestinationId: this.#destination.id },
    });
  }
}

function lost() {
  return toJobError(new Problem('INTEGRITY_ERROR', 'The copy is gone from this destination.'));
}
