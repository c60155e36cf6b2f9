import { setTimeout as pause } from 'node:timers/promises';
import { Wake } from '@holdfast/engine';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import { later, minuteMs } from '../../../platform/durations.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/log.ts';
import { dispatchStore, type EnabledWebhook, type PieceLimits, type WaitingEvent } from './dispatch-store.ts';
import { wants } from './subscription.ts';

/** The size of one transaction. An event with more webhooks than this is still dispatched as one piece. */
const pieceLimits: PieceLimits = {
  events: 500,
  organizations: 50,
  eventsPerOrganization: 250,
  pairsPerOrganization: 1000,
};
const pairsPerPieceMax = 5000;
const webhooksPerPage = 500;
/** Collects events that come one by one for a moment. */
const gatherMs = 15;
const pollMs = 1000;
const troubleMs = 1000;
/** An event that cannot be dispatched is retried after this time. */
const setAsideMs = 5 * minuteMs;

export interface DispatcherOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** Called after deliveries were committed. */
  onDeliveries: () => void;
}

type Event = Omit<WaitingEvent, 'webhooks'>;

interface Progress {
  /** The last organization that got its share; undefined when none waits after it. */
  through: string | undefined;
  /** Whether one of them has more waiting than its share. */
  hasMore: boolean;
}

/**
 * Turns events into deliveries: one per event and subscribed webhook, in the transaction that marks the event as
 * dispatched.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #wake = new Wake();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#wake.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake.wake();
    await this.#running;
  }

  /** Gives every organization with waiting events its share, once. Returns whether one of them has more. */
  async dispatchRound(): Promise<boolean> {
    let isMoreLeft = false;
    for (let after: string | undefined = ''; after !== undefined && !this.#stopped; ) {
      const piece = await this.#dispatchPiece(after);
      isMoreLeft ||= piece.hasMore;
      after = piece.through;
    }
    return isMoreLeft;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        while (!this.#stopped && (await this.dispatchRound()));
        if (this.#stopped) return;
        await this.#wake.sleep(pollMs);
        await pause(gatherMs);
      } catch (error) {
        this.#options.log.warn({ err: error }, 'events could not be dispatched; trying again');
        await this.#wake.sleep(troubleMs);
      }
    }
  }

  async #dispatchPiece(after: string): Promise<Progress> {
    const now = this.#options.clock.now();
    let piece: WaitingEvent[] = [];
    try {
      return await this.#options.database.system(async (transaction) => {
        const rows = await dispatchStore.waiting(transaction, now, after, pieceLimits);
        const waiting = rows.filter((row): row is WaitingEvent => row.id !== null);
        piece = withinPairs(waiting);
        await this.#dispatch(transaction, piece, now);
        const isCut = piece.length < waiting.length;
        const last = isCut ? piece.at(-1) : rows.at(-1);
        return { through: last?.organizationId, hasMore: isCut || hasMore(waiting) };
      });
    } catch (error) {
      if (piece.length === 0) throw error;
      this.#options.log.warn({ err: error }, 'a batch of events could not be dispatched; trying each by itself');
      for (const { id, organizationId } of piece) await this.#dispatchAlone(id, organizationId);
      return { through: piece.at(-1)?.organizationId, hasMore: true };
    }
  }

  /** Dispatches one event, so that a faulty event stops only itself. */
  async #dispatchAlone(eventId: string, organizationId: string): Promise<void> {
    const { database, clock, log } = this.#options;
    const now = clock.now();
    try {
      await database.system(async (transaction) => {
        const event = await dispatchStore.one(transaction, now, eventId);
        if (event) await this.#dispatch(transaction, [event], now);
      });
    } catch (error) {
      log.error({ err: error, eventId, organizationId }, 'an event could not be dispatched and is set aside');
      await database.system((transaction) => dispatchStore.setAside(transaction, eventId, later(now, setAsideMs)));
    }
  }

  async #dispatch(transaction: Transaction, events: readonly Event[], now: Date): Promise<void> {
    if (events.length === 0) return;
    const forEachByOrganization = Map.groupBy(events, ({ organizationId }) => organizationId);
    const organizationIds = [...forEachByOrganization.keys()];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page: EnabledWebhook[] = await dispatchStore.webhooks(transaction, organizationIds, after, webhooksPerPage);
      await this.#insertDeliveries(transaction, forEachByOrganization, page, now);
      after = page.length === webhooksPerPage ? page.at(-1)?.id : undefined;
    }
    const ids = events.map(({ id }) => id);
    await dispatchStore.markDispatched(transaction, ids, now);
  }

  async #insertDeliveries(
    transaction: Transaction,
    forEachByOrganization: ReadonlyMap<string, readonly Event[]>,
    webhooks: readonly EnabledWebhook[],
    now: Date,
  ): Promise<void> {
    const deliveries = webhooks.flatMap((webhook) =>
      (forEachByOrganization.get(webhook.organizationId) ?? [])
        .filter((event) => wants(webhook, event.type, event.payload))
        .map((event) => this.#delivery(event, webhook.id, now)),
    );
    if (deliveries.length === 0) return;
    await dispatchStore.insert(transaction, deliveries);
    transaction.onCommit(this.#options.onDeliveries);
  }

  #delivery(event: Event, webhookId: string, now: Date) {
    return {
      id: this.#options.ids.next('dlv'),
      organizationId: event.organizationId,
      webhookId,
      eventId: event.id,
      eventType: event.type,
      now,
    };
  }
}

/** As many events as fit the limit with their webhooks, at least one. */
function withinPairs(events: readonly WaitingEvent[]): WaitingEvent[] {
  let pairs = 0;
  return events.filter(({ webhooks }, index) => {
    pairs += webhooks;
    return index === 0 || pairs <= pairsPerPieceMax;
  });
}

/** Whether there may be more than was read, in total or of one organization. */
function hasMore(waiting: readonly WaitingEvent[]): boolean {
  const { events, eventsPerOrganization, pairsPerOrganization } = pieceLimits;
  if (waiting.length >= events) return true;
  return [...Map.groupBy(waiting, ({ organizationId }) => organizationId).values()].some((own) => {
    const share = Math.floor(pairsPerOrganization / Math.max(own[0]?.webhooks ?? 1, 1));
    return own.length >= Math.min(eventsPerOrganization, Math.max(1, share));
  });
}
