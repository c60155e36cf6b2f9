/** Misbehaviour on demand: which calls, how, how often. */

import { GoogleError } from './respond.ts';

export type FaultKind = 'unauthenticated' | 'permission_denied' | 'throttled' | 'unavailable' | 'latency' | 'drop';

export interface Fault {
  /** Calls whose path contains this; absent: all of them. */
  readonly path?: string;
  readonly kind: FaultKind;
  /** How long an answer is delayed (kind `latency`). */
  readonly latencyMs?: number;
  /** How many calls it affects before it ends; absent: no limit. */
  readonly times?: number;
  /** The probability, 0 to 1, that it affects a call; absent: always. */
  readonly probability?: number;
}

const errors: Partial<Record<FaultKind, [number, string, string]>> = {
  unauthenticated: [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  permission_denied: [403, 'PERMISSION_DENIED', 'The caller does not have permission'],
  throttled: [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.'],
  unavailable: [503, 'UNAVAILABLE', 'The service is currently unavailable.'],
};

/** Thrown to cut the connection without an answer. */
export class DropConnection extends Error {}

export class Faults {
  #active: { fault: Fault; left: number }[] = [];

  set(faults: readonly Fault[]): void {
    this.#active = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
  }

  clear(): void {
    this.#active = [];
  }

  /** Waits, throws, or does nothing. */
  async apply(path: string): Promise<void> {
    for (const entry of this.#active) {
      const { fault } = entry;
      if (entry.left <= 0 || (fault.path !== undefined && !path.includes(fault.path))) continue;
      if (fault.probability !== undefined && Math.random() >= fault.probability) continue;
      entry.left -= 1;
      if (fault.kind === 'drop') throw new DropConnection();
      const error = errors[fault.kind];
      if (error !== undefined) throw new GoogleError(...error);
      await new Promise((resolve) => setTimeout(resolve, fault.latencyMs ?? 100));
    }
  }
}
