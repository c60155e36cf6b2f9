import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { minuteMs, secondMs } from '../platform/durations.ts';
import { Problem } from '../platform/problem.ts';

export interface StreamLimits {
  readonly perOrganizationMax: number;
  /** In all their organizations together: who may found many of them does not take everybody's places. As many again by keys of those they own. */
  readonly perPersonMax: number;
  readonly totalMax: number;
  /** A stream of which nobody took a byte for so long is ended. */
  readonly unreadMsMax: number;
  /** Whoever lost the right to read a stream loses the stream within this. */
  readonly askAgainMs: number;
}

/** Whoever follows events is told to come back after this. */
const comeBackMs = secondMs;

export const usualStreamLimits: StreamLimits = {
  perOrganizationMax: 16,
  perPersonMax: 48,
  totalMax: 512,
  unreadMsMax: minuteMs,
  askAgainMs: 10 * secondMs,
};

/** Answers that go on for long: counted, and ended when nobody reads them or who reads them may no longer. */
export class OpenStreams {
  readonly #limits: StreamLimits;
  /** By organization or address, and by person; their ids never meet. */
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
    const told = this.#fullness(ofPerson, ofOrganization);
    if (told !== undefined) {
      stream.destroy();
      throw new Problem('RATE_LIMITED', told, { retryAfterSeconds: 1 });
    }
    const owners = person === undefined ? [organization] : [organization, person];
    for (const owner of owners) this.#open.set(owner, (this.#open.get(owner) ?? 0) + 1);
    this.#total += 1;
    const stopWatching = endWhenUnread(response, this.#limits.unreadMsMax);
    const stopAsking = endWhenRefused(response, this.#limits.askAgainMs, isStillAdmitted);
    response.once('close', () => {
      stopWatching();
      stopAsking();
      for (const owner of owners) this.#release(owner);
      this.#total -= 1;
    });
  }

  /** Why there is no place for one more, if there is none. */
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

/** Events are followed on at once elsewhere, while a process that stops would wait for them until its grace is over. */
export function sendAwayWhenStopping(stream: Readable, response: ServerResponse, stopping: AbortSignal): void {
  const sendAway = () => {
    stream.unpipe(response);
    response.end(`retry: ${comeBackMs}\n\n`);
  };
  response.once('pipe', () => {
    if (stopping.aborted) sendAway();
    else stopping.addEventListener('abort', sendAway);
  });
  response.once('close', () => stopping.removeEventListener('abort', sendAway));
}

/**
 * An answer that nobody takes waits in the memory of everybody, so it is cut off. One that is taken slowly goes on: whatever
 * of it is taken counts. Streams may rest in between, and have a watch of their own.
 */
export function cutOffUnreadAnswers(app: FastifyInstance, unreadMsMax: number): void {
  app.addHook('onSend', async (_request, reply, payload) => {
    if (!(payload instanceof Readable)) reply.raw.setTimeout(unreadMsMax);
  });
}

/** Looks whether bytes wait that the other side does not take. A quiet stream has none waiting and may stay. */
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

/** Cut off and not ended: a part must not look like the whole. */
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
