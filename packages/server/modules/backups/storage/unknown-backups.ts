import { type BlobStore, describeBackup, finishedBackups, type KeyRing } from '@holdfast/engine';
import { minuteMs } from '../../../platform/durations.ts';
import type { DestinationRow } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { adoptKeys } from '../keys/key-copies.ts';
import { copyStore } from './copy-store.ts';

/** Many backups may be removed at once, and a bucket may hold thousands, so results are kept for this long. */
const seenForMs = minuteMs;
const idsPerQuestion = 500;

interface Seen {
  readonly atMs: number;
  /** Backups that unknown ones build on. */
  readonly parents: Promise<ReadonlySet<string>>;
}

/**
 * Whole backups in a destination that have no record, or whose record calls them unfinished: the catalogue was restored
 * from an older copy, or another service writes here too. What they build on must not be removed.
 */
export class UnknownBackups {
  readonly #context: BackupsContext;
  readonly #seen = new Map<string, Seen>();

  constructor(context: BackupsContext) {
    this.#context = context;
  }

  /** Whether one of them builds on one of these backups. */
  async needAny(
    destination: DestinationRow,
    store: BlobStore,
    backupIds: readonly string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const isNeeded = (parents: ReadonlySet<string>) => backupIds.some((id) => parents.has(id));
    const seen = this.#recent(destination);
    if (seen && !isNeeded(await seen)) return false;
    // The unknown backup that needed it may have been removed since.
    return isNeeded(await this.#lookAnew(destination, store, signal));
  }

  #recent({ id }: DestinationRow): Seen['parents'] | undefined {
    const nowMs = this.#context.platform.clock.now().getTime();
    for (const [id, { atMs }] of this.#seen) if (Math.abs(nowMs - atMs) > seenForMs) this.#seen.delete(id);
    return this.#seen.get(id)?.parents;
  }

  async #lookAnew(destination: DestinationRow, store: BlobStore, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const parents = this.#look(destination, store, signal);
    this.#seen.set(destination.id, { atMs: this.#context.platform.clock.now().getTime(), parents });
    try {
      return await parents;
    } catch (error) {
      this.#seen.delete(destination.id);
      throw error;
    }
  }

  async #look({ organizationId }: DestinationRow, store: BlobStore, signal: AbortSignal): Promise<Set<string>> {
    const parents = new Set<string>();
    const sealed: string[] = [];
    const open = async (ids: AsyncIterable<string> | Iterable<string>) => {
      const ring = await this.#ringOf(organizationId);
      for await (const id of ids) {
        const entry = await describeBackup(store, id, ring, this.#context.engine.codec, { signal });
        if (entry?.body?.parent) parents.add(entry.body.parent.backupId);
        if (entry?.problem?.code === 'DECRYPTION_ERROR') sealed.push(id);
      }
    };
    await open(this.#unknownIn(store, signal));
    if (sealed.length === 0) return parents;
    // A restored catalogue has only its older keys; the newer ones lie beside the backups.
    const { adopted } = await adoptKeys(this.#context, organizationId, store, signal);
    if (adopted > 0) await open([...sealed]);
    return parents;
  }

  async *#unknownIn(store: BlobStore, signal: AbortSignal): AsyncGenerator<string> {
    const { database } = this.#context.platform;
    const unknownAmong = (ids: readonly string[]) =>
      database.system((transaction) => copyStore.unknownAmong(transaction, ids));
    let ids: string[] = [];
    for await (const id of finishedBackups(store, { signal })) {
      if (ids.push(id) < idsPerQuestion) continue;
      yield* await unknownAmong(ids);
      ids = [];
    }
    yield* await unknownAmong(ids);
  }

  async #ringOf(organizationId: string): Promise<KeyRing> {
    const { platform, keys } = this.#context;
    const { ring } = await platform.database.tenant(organizationId, (transaction) =>
      keys.ring(transaction, organizationId),
    );
    return ring;
  }
}
