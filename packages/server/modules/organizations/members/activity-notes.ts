import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Logger } from '../../../platform/log.ts';
import { type ActivityNotes, activityMs } from '../../auth/index.ts';
import { noteUse } from '../service-account/service-account-store.ts';
import { noteActivity } from './member-store.ts';

const writesAtOnceMax = 4;

type WriteNote = typeof noteActivity;

/**
 * Saves when people and keys were last active, without delaying the call: at most once a minute for each, one write at
 * a time for each, and few at once in total. A note is dropped when the row is locked or too many are waiting; the next
 * call brings another.
 */
export class DatabaseActivityNotes implements ActivityNotes {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #writing = new Map<string, Promise<void>>();

  constructor(platform: { database: Database; clock: Clock; log: Logger }) {
    this.#database = platform.database;
    this.#clock = platform.clock;
    this.#log = platform.log;
  }

  personActive(organizationId: string, userId: string): void {
    this.#note(organizationId, userId, noteActivity);
  }

  keyUsed(organizationId: string, serviceAccountId: string): void {
    this.#note(organizationId, serviceAccountId, noteUse);
  }

  /** Waits for the notes that are being written. */
  async settle(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  #note(organizationId: string, id: string, writeNote: WriteNote): void {
    const mark = `${organizationId} ${id}`;
    if (this.#writing.has(mark) || this.#writing.size >= writesAtOnceMax) return;
    const write = this.#write(organizationId, id, writeNote)
      .catch((error: unknown) => this.#log.debug({ err: error }, 'an activity note was left out'))
      .finally(() => this.#writing.delete(mark));
    this.#writing.set(mark, write);
  }

  async #write(organizationId: string, id: string, writeNote: WriteNote): Promise<void> {
    const now = this.#clock.now();
    const before = new Date(now.getTime() - activityMs);
    await this.#database.tenant(organizationId, (transaction) =>
      writeNote(transaction, organizationId, id, { now, before }),
    );
  }
}
