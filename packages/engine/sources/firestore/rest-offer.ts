/**
 * Whether a server answers queries over REST, compressed as a whole. Emulators, older servers and gateways may not, and
 * tell so in many ways. So the first answers decide, for as long as the connection lasts; gRPC is there all the while.
 */

import { minuteMs } from '../../time/durations.ts';
import { RestError } from './transport/json-error.ts';
import { GrpcError, grpcCode, isTransient } from './transport/status.ts';

const answerTimeoutMsDefault = 15_000;
/** Servers end long queries themselves; a silent one is given up and continued elsewhere. */
const idleTimeoutMs = minuteMs;
/** Attempts in a row that bring nothing, of a server that has answered before. */
const fruitlessMax = 3;

export class RestOffer {
  readonly #answerTimeoutMs: number;
  #isProven = false;
  #isGivenUp = false;

  constructor(answerTimeoutMs = answerTimeoutMsDefault) {
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** How long nothing may come. A server of which nothing is known yet may well be one that never answers. */
  get idleTimeoutMs(): number {
    return this.#isProven ? idleTimeoutMs : this.#answerTimeoutMs;
  }

  /** It has sent what it should. */
  prove(): void {
    this.#isProven = true;
  }

  giveUp(): void {
    this.#isGivenUp = true;
  }

  /** After an attempt that brought nothing, `inARow` of them so far: whether REST is asked once more. */
  survives(error: unknown, inARow: number): boolean {
    if (error instanceof RestError) this.#isProven = true;
    // A refusal that is none of REST's doing is told by gRPC as well, which is asked next.
    const isPassing = isTransient(error) || (error instanceof GrpcError && error.code === grpcCode.UNAUTHENTICATED);
    if (!this.#isProven || !isPassing || inARow >= fruitlessMax) this.#isGivenUp = true;
    return !this.#isGivenUp;
  }
}
