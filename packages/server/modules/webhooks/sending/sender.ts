import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Wake } from '@holdfast/engine';
import type { Agent } from 'undici';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import { type RenderedRequest, renderRequest } from '../requests/render-request.ts';
import type { WebhookSecrets } from '../requests/webhook-secrets.ts';
import {
  type ClaimedDelivery,
  type DeliveryQueue,
  type FinishedAttempt,
  leaseRenewalMs,
} from './delivery-queue-store.ts';
import { type Outcome, post } from './post.ts';
import { nextAttempt, parseRetryAfter } from './retry-policy.ts';
import { Slots } from './slots.ts';

const pollMs = 1000;
/** A claim is one statement over all busy webhooks, so freed slots are collected for a moment. */
const claimPauseMs = 20;
/** Outcomes are collected for a moment and written together. */
const finishPauseMs = 15;
const finishBatchMax = 200;
/** Limits the outcomes in memory: while the database does not accept them, no more is sent. */
const unwrittenMax = 2000;
const troubleMs = 500;
const begunAtOnce = 8;

export interface SenderOptions {
  queue: DeliveryQueue;
  agent: Agent;
  secrets: WebhookSecrets;
  clock: Clock;
  log: Logger;
  /** Resolves when a delivery of the organization may be rendered and signed. */
  turn: (organizationId: string) => Promise<void>;
  /** Running attempts get this long to finish on shutdown. */
  graceMs: number;
  /**
   * Called with the attempts that were written, to update the webhooks' timestamps and to disable endpoints that are
   * gone.
   */
  onWritten: (attempts: readonly SentAttempt[]) => Promise<void>;
}

export interface SentAttempt {
  webhookId: string;
  organizationId: string;
  sentAt: Date;
  statusCode: number | null;
  sent: boolean;
}

/** Claims due deliveries, sends them, and saves the outcome. Many processes do this at once; leases keep them apart. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #slots = new Slots();
  readonly #wake = new Wake();
  readonly #finishWake = new Wake();
  /** Deliveries being sent. */
  readonly #held = new Map<string, Promise<void>>();
  /** Claimed, and waiting for their turn to be sent: their leases are renewed too. */
  readonly #waiting = new Set<string>();
  #unwritten: { finished: FinishedAttempt; sent: SentAttempt }[] = [];
  readonly #stopping = new AbortController();
  readonly #abandoning = new AbortController();
  #renewal: NodeJS.Timeout | undefined;
  #claiming: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#claiming = this.#claimLoop();
    this.#writing = this.#writeLoop();
    this.#renewal = setInterval(() => void this.#renew(), leaseRenewalMs);
  }

  wake(): void {
    this.#wake.wake();
  }

  /** Lets running attempts finish within the grace period, saves them, and releases the rest. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.wake();
    await this.#claiming;
    const timer = setTimeout(() => this.#abandoning.abort(), this.#options.graceMs);
    await Promise.all(this.#held.values());
    clearInterval(this.#renewal);
    this.#finishWake.wake();
    await this.#writing;
    clearTimeout(timer);
  }

  async #claimLoop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const claimed = await this.#claim();
      if (claimed > 0) await pause(claimPauseMs);
      else await this.#wake.sleep(pollMs);
    }
  }

  async #claim(): Promise<number> {
    const total = Math.min(this.#slots.free, unwrittenMax - this.#unwritten.length);
    if (total <= 0) return 0;
    try {
      const claimed = await this.#options.queue.claim(this.#options.clock.now(), { total, ...this.#slots.room() });
      for (const { id } of claimed) this.#waiting.add(id);
      await this.#begin(claimed);
      return claimed.length;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'deliveries could not be claimed; trying again');
      await pause(troubleMs);
      return 0;
    }
  }

  /** Releases what has not begun when the sender stops. */
  async #begin(claimed: readonly ClaimedDelivery[]): Promise<void> {
    try {
      for (const [index, delivery] of claimed.entries()) {
        // Rendering and signing run on the thread that answers calls.
        if (index % begunAtOnce === begunAtOnce - 1) await nextTurn();
        await this.#options.turn(delivery.organizationId);
        if (this.#stopping.signal.aborted) return;
        this.#waiting.delete(delivery.id);
        this.#hold(delivery);
      }
    } finally {
      const left = [...this.#waiting];
      this.#waiting.clear();
      await this.#options.queue.release(left);
    }
  }

  #hold(delivery: ClaimedDelivery): void {
    const { webhookId, organizationId } = delivery;
    this.#slots.take(webhookId, organizationId);
    let timedOut = false;
    const sending = this.#attempt(delivery)
      .then((outcome) => {
        timedOut = outcome.timedOut;
      })
      .catch((error: unknown) => {
        this.#options.log.error(
          { err: error, deliveryId: delivery.id },
          'a delivery could not be made; its lease runs out',
        );
      })
      .finally(() => {
        this.#held.delete(delivery.id);
        this.#slots.give(webhookId, organizationId, { timedOut });
        this.#wake.wake();
      });
    this.#held.set(delivery.id, sending);
  }

  async #attempt(delivery: ClaimedDelivery): Promise<{ timedOut: boolean }> {
    const { webhook, event } = delivery;
    const now = this.#options.clock.now();
    if (!webhook.enabled) return this.#drop(delivery, now, 'The webhook is disabled.');
    if (!event) return this.#drop(delivery, now, 'The event is no longer kept.');
    const attempt = delivery.attempts + 1;
    const signer = this.#options.secrets.signer(webhook, now);
    const rendered = renderRequest({ event, webhook: signer, deliveryId: delivery.id, attempt, now });
    const outcome = await post(this.#options.agent, rendered, webhook.timeoutMs, this.#abandoning.signal);
    if (this.#abandoning.signal.aborted && !outcome.success) {
      await this.#options.queue.release([delivery.id]);
      return { timedOut: false };
    }
    this.#write(delivery, this.#finished(delivery, attempt, now, rendered, outcome), true);
    return outcome;
  }

  #finished(
    delivery: ClaimedDelivery,
    attempt: number,
    sentAt: Date,
    rendered: RenderedRequest,
    outcome: Outcome,
  ): FinishedAttempt {
    const endedAt = this.#options.clock.now();
    const gone = outcome.statusCode === 410;
    const retryAfterMs = parseRetryAfter(outcome.retryAfter, endedAt);
    const next = outcome.success || gone ? null : nextAttempt(delivery.webhook, attempt, endedAt, retryAfterMs);
    return {
      id: delivery.id,
      organizationId: delivery.organizationId,
      status: outcome.success ? 'delivered' : next ? 'pending' : 'failed',
      attempt,
      nextAttemptAt: next,
      finishedAt: next ? null : endedAt,
      sentAt,
      url: rendered.url,
      sealedHeaders: this.#options.secrets.sealRequestHeaders(delivery.id, rendered.headers),
      body: rendered.body,
      statusCode: outcome.statusCode,
      durationMs: outcome.durationMs,
      error: outcome.error,
      responseBody: outcome.responseBody,
    };
  }

  /** Ends a delivery without sending anything. */
  #drop(delivery: ClaimedDelivery, now: Date, error: string): { timedOut: boolean } {
    const { id, organizationId, webhook } = delivery;
    const nothing = {
      url: webhook.url,
      sealedHeaders: '',
      body: '',
      statusCode: null,
      durationMs: 0,
      responseBody: null,
    };
    const end = { status: 'failed' as const, attempt: null, nextAttemptAt: null, finishedAt: now, sentAt: now, error };
    this.#write(delivery, { id, organizationId, ...nothing, ...end }, false);
    return { timedOut: false };
  }

  #write(delivery: ClaimedDelivery, finished: FinishedAttempt, sent: boolean): void {
    const { webhookId, organizationId } = delivery;
    const { sentAt, statusCode } = finished;
    this.#unwritten.push({ finished, sent: { webhookId, organizationId, sentAt, statusCode, sent } });
    this.#finishWake.wake();
  }

  async #writeLoop(): Promise<void> {
    for (;;) {
      const batch = this.#unwritten.slice(0, finishBatchMax);
      if (batch.length === 0) {
        if (this.#stopping.signal.aborted && this.#held.size === 0) return;
        await this.#finishWake.sleep(pollMs);
        await pause(finishPauseMs);
        continue;
      }
      try {
        await this.#options.queue.finish(batch.map((entry) => entry.finished));
        this.#unwritten.splice(0, batch.length);
        await this.#options.onWritten(batch.map((entry) => entry.sent));
      } catch (error) {
        this.#options.log.warn({ err: error }, 'outcomes of deliveries could not be written; trying again');
        if (this.#abandoning.signal.aborted) return;
        await pause(troubleMs);
      }
    }
  }

  async #renew(): Promise<void> {
    const ids = [...this.#waiting, ...this.#held.keys(), ...this.#unwritten.map((entry) => entry.finished.id)];
    await this.#options.queue
      .renew(ids)
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'leases of deliveries could not be renewed'));
  }
}
