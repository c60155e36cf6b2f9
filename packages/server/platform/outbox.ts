import type { Clock } from './clock.ts';
import type { Transaction } from './database/database.ts';
import { outboxEvents } from './database/tables.ts';
import type { Ids } from './ids.ts';

/** Something that happened in an organization, as the webhooks will tell it. */
export interface OutboxEvent {
  organizationId: string;
  /** A name of the contract's event catalogue. */
  type: string;
  /** Facts from which both delivery formats are made. */
  payload: Record<string, unknown>;
}

/** Wakes the dispatcher as soon as an event is committed. */
export const outboxChannel = 'holdfast_outbox';

export class Outbox {
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Writes the event in the transaction of the change it tells of: no change without its event, no event without its change. */
  async emit(transaction: Transaction, event: OutboxEvent): Promise<string> {
    const id = this.#ids.next('evt');
    await transaction.orm.insert(outboxEvents).values({ id, ...event, createdAt: this.#clock.now() });
    await transaction.client.query(`notify ${outboxChannel}`);
    return id;
  }
}
