import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Logger } from '../../../platform/log.ts';
import { noteSessionUse } from './session-store.ts';

/** Saves when a session was last used, at most once a minute and without delaying the call. */
export class SessionActivity {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #underWay = new Set<string>();

  constructor(options: { database: Database; clock: Clock; log: Logger }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  note(sessionId: string): void {
    if (this.#underWay.has(sessionId)) return;
    this.#underWay.add(sessionId);
    const now = this.#clock.now();
    this.#database
      .system((transaction) => noteSessionUse(transaction, sessionId, now))
      .catch((error: unknown) => this.#log.debug({ err: error }, 'the use of a session could not be noted'))
      .finally(() => this.#underWay.delete(sessionId));
  }
}
