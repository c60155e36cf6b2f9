import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { minuteMs, secondMs } from '../platform/durations.ts';
import { Problem } from '../platform/problem.ts';

export interface StreamLimits {
  readonly perOrganizationMax: number;
  /**
   * In all organizations together, so that a person with many organizations does not take everybody's places. The keys
   * of the organizations they own have the same number again.
   */
  readonly perPersonMax: number;
  readonly totalMax: number;
  /** A stream of which nothing was read for this long is ended. */
  readonly unreadMsMax: number;
  /** A person who lost the right to read a stream loses the stream within this time. */
  readonly recheckMs: number;
}

/** Followers of events are told to reconnect after this time. */
const reconnectMs = secondMs;

export const usualStreamLimits: StreamLimits = {
  perOrganizationMax: 16,
  perPersonMax: 48,
  totalMax: 512,
  unreadMsMax: minuteMs,
  recheckMs: 10 * secondMs,
};

/** Answers that last long: counted, and ended when nobody reads them or their reader has lost the right to. */
export class OpenStreams {
  readonly #limits: StreamLimits;
  /** By organization or address, and by person; these ids never overlap. */
  readonly #open = new Map<string, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Takes a place until the answer is over; throws RATE_LIMITED when there is none. */
  add(
    { organization, person }: { organization: string; person: string | undefined },
    stream: Readable,
    response: ServerResponse,
    isStillAdmitted: () => Promise<boolean>,
  ): void {
    const ofOrganization = this.#open.get(organization) ?? 0;
    const ofPerson = person === undefined ? 0 : (this.#open.get(person) ?? 0);
    const refusal = this.#fullness(ofPerson, ofOrganization);
    if (refusal !== undefined) {
      stream.destroy();
      throw new Problem('RATE_LIMITED', refusal, { retryAfterSeconds: 1 });
    }
    const owners = person === undefined ? [organization] : [organization, person];
    for (const owner of owners) this.#open.set(owner, (this.#open.get(owner) ?? 0) + 1);
    this.#total += 1;
    const stopWatching = endWhenUnread(response, this.#limits.unreadMsMax);
    const stopAsking = endWhenRefused(response, this.#limits.recheckMs, isStillAdmitted);
    response.once('close', () => {
      stopWatching();
      stopAsking();
      for (const owner of owners) this.#release(owner);
      this.#total -= 1;
    });
  }

  /** Why there is no place for one more, if so. */
  #fullness(ofPerson: number, ofOrganization: number): string | undefined {
    const { perPersonMax, perOrganizationMax, totalMax } = this.#limits;
    if (ofPerson >= perPersonMax)
      return `There are ${ofPerson} open streams of yours in all organizations; close one first.`;
    if (ofOrganization >= perOrganizationMax)
      return `There are ${ofOrganization} open streams of this organization; close one first.`;
    return this.#total >= totalMax ? 'All places for streams are taken, by others too; try again later.' : undefined;
  }

  #release(owner: string): void {
    const left = (this.#open.get(owner) ?? 1) - 1;
    if (left > 0) this.#open.set(owner, left);
    else this.#open.delete(owner);
  }
}

/**
 * Followers can reconnect to another process at once, while a stopping process would wait for them until its grace
 * period ends.
 */
export function endWhenStopping(stream: Readable, response: ServerResponse, stopping: AbortSignal): void {
  const sendAway = () => {
    stream.unpipe(response);
    response.end(`retry: ${reconnectMs}\n\n`);
  };
  response.once('pipe', () => {
    if (stopping.aborted) sendAway();
    else stopping.addEventListener('abort', sendAway);
  });
  response.once('close', () => stopping.removeEventListener('abort', sendAway));
}

/**
 * Cuts off answers that nobody reads, because they stay in memory. A slow reader is not cut off, as long as some of it
 * is read. Streams may pause in between, and have their own check.
 */
export function cutOffUnreadAnswers(app: FastifyInstance, unreadMsMax: number): void {
  app.addHook('onSend', async (_request, reply, payload) => {
    if (!(payload instanceof Readable)) reply.raw.setTimeout(unreadMsMax);
  });
}

/** Ends a stream whose bytes the client does not read. A quiet stream has no waiting bytes and stays open. */
function endWhenUnread(response: ServerResponse, unreadMsMax: number): () => void {
  let takenBefore = -1;
  const timer = setInterval(() => {
    const { socket } = response;
    if (!socket) return;
    const waiting = socket.writableLength + response.writableLength;
    const taken = socket.bytesWritten - socket.writableLength;
    if (waiting > 0 && taken === takenBefore) socket.destroy();
    takenBefore = taken;
  }, unreadMsMax);
  return () => clearInterval(timer);
}

/** Destroyed instead of ended: a part must not look like the whole. */
function endWhenRefused(
  response: ServerResponse,
  everyMs: number,
  isStillAdmitted: () => Promise<boolean>,
): () => void {
  const timer = setInterval(async () => {
    if (!(await isStillAdmitted())) response.destroy();
  }, everyMs);
  return () => clearInterval(timer);
}
