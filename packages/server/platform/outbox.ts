import type { Clock } from './clock.ts';
import type { Transaction } from './database/database.ts';
import { outboxEvents } from './database/tables.ts';
import { notify } from './database/transaction-statements.ts';
import type { EventPayload } from './event-payload.ts';
import type { Ids } from './ids.ts';

/** Something that happened in an organization, for its webhooks. */
export interface OutboxEvent {
  organizationId: string;
  /** A name of the contract's event catalogue. */
  type: string;
  payload: EventPayload;
}

/** Wakes the dispatcher as soon as an event is committed. */
export const outboxChannel = 'holdfast_outbox';

export type OutboxListener = (transaction: Transaction, events: readonly OutboxEvent[]) => Promise<void>;

export class Outbox {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #listeners: OutboxListener[] = [];
  /** Transactions that already wake the dispatcher. */
  readonly #waking = new WeakSet<Transaction>();

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Writes the event in the transaction of its change, so neither exists without the other. */
  async emit(transaction: Transaction, event: OutboxEvent): Promise<string> {
    const [id] = await this.emitAll(transaction, [event]);
    return id as string;
  }

  /** The same for many changes of one transaction. */
  async emitAll(transaction: Transaction, events: readonly OutboxEvent[]): Promise<string[]> {
    if (events.length === 0) return [];
    const createdAt = this.#clock.now();
    const rows = events.map((event) => ({ id: this.#ids.next('evt'), ...event, createdAt }));
    await transaction.orm.insert(outboxEvents).values(rows);
    if (!this.#waking.has(transaction)) await notify(transaction, outboxChannel);
    this.#waking.add(transaction);
    for (const listener of this.#listeners) await listener(transaction, events);
    return rows.map(({ id }) => id);
  }

  /** Called for every event, in the transaction that writes it. */
  listen(listener: OutboxListener): void {
    this.#listeners.push(listener);
  }
}
