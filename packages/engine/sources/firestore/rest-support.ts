/**
 * Whether a server answers queries over REST, where the whole answer is compressed. Emulators, older servers and
 * gateways may not, and say so in many ways. So the first answers decide, for as long as the connection lasts. gRPC
 * always works.
 */

import { minuteMs } from '../../time/durations.ts';
import { RestError } from './transport/json-error.ts';
import { GrpcError, grpcCode, isTransient } from './transport/status.ts';

const answerTimeoutMsDefault = 15_000;
/**
 * Servers end long queries themselves. When a server is silent this long, the query is continued with another request.
 */
const idleTimeoutMs = minuteMs;
/** Attempts in a row without any result, for a server that has answered before. */
const fruitlessMax = 3;

export class RestSupport {
  readonly #answerTimeoutMs: number;
  #isConfirmed = false;
  #isGivenUp = false;

  constructor(answerTimeoutMs = answerTimeoutMsDefault) {
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** How long a server may be silent. A server about which nothing is known yet may be one that never answers. */
  get idleTimeoutMs(): number {
    return this.#isConfirmed ? idleTimeoutMs : this.#answerTimeoutMs;
  }

  /** The server sent a correct answer. */
  confirm(): void {
    this.#isConfirmed = true;
  }

  giveUp(): void {
    this.#isGivenUp = true;
  }

  /** Whether to ask over REST again after an attempt without any result; `inARow` counts these. */
  mayTryAgain(error: unknown, inARow: number): boolean {
    if (error instanceof RestError) this.#isConfirmed = true;
    // A refusal that has nothing to do with REST comes from gRPC too, which is asked next.
    const isPassing = isTransient(error) || (error instanceof GrpcError && error.code === grpcCode.UNAUTHENTICATED);
    if (!this.#isConfirmed || !isPassing || inARow >= fruitlessMax) this.#isGivenUp = true;
    return !this.#isGivenUp;
  }
}
