/** What goes wrong, and how often. Rates are shares of requests, 0 to 1; absent faults do not happen. */
export interface FaultProfile {
  /** The same seed and the same order of requests give the same faults. */
  seed?: number;
  /** Refused with a server error before anything was done. */
  errorRate?: number;
  /** Refused as too fast (503 SlowDown, or 429) before anything was done. */
  throttleRate?: number;
  /** A write is done, and then the connection drops without an answer. */
  lostAckRate?: number;
  delayRate?: number;
  delayMsMin?: number;
  delayMsMax?: number;
  /**
   * The object's bytes stop early: half of the time the connection breaks, half of the time the answer looks complete.
   */
  truncateRate?: number;
  /** One byte of the object's bytes is changed on its way out. */
  corruptReadRate?: number;
  /** One byte is changed on its way in, before checksums are verified. */
  corruptWriteRate?: number;
  /** Only these operations are affected; all if absent. */
  operations?: string[];
  /** The profile ends after this many affected requests. */
  harmedMax?: number;
}

export interface FaultPlan {
  delayMs: number;
  refuse: 'error' | 'throttle' | undefined;
  loseAck: boolean;
  truncate: 'broken' | 'clean' | undefined;
  corruptRead: boolean;
  corruptWrite: boolean;
  /** The position of the damage in the bytes, 0 to 1. */
  position: number;
}

export type FaultCounts = Record<
  'requests' | 'errors' | 'throttles' | 'lostAcks' | 'delays' | 'truncations' | 'corruptReads' | 'corruptWrites',
  number
>;

const rates = [
  'errorRate',
  'throttleRate',
  'lostAckRate',
  'delayRate',
  'truncateRate',
  'corruptReadRate',
  'corruptWriteRate',
] as const;
const amounts = ['seed', 'delayMsMin', 'delayMsMax', 'harmedMax'] as const;

/** A small seeded generator (mulberry32): good enough to choose requests, and the same everywhere. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Throws on anything unknown: a misspelt fault would make a test that cannot fail. */
export function checkFaultProfile(value: unknown): FaultProfile {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('a profile is an object');
  for (const [name, amount] of Object.entries(value)) {
    if ((rates as readonly string[]).includes(name)) {
      if (typeof amount !== 'number' || !(amount >= 0 && amount <= 1)) throw new TypeError(`${name} must be 0 to 1`);
    } else if ((amounts as readonly string[]).includes(name)) {
      if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError(`${name} must be a whole number`);
    } else if (name === 'operations') {
      if (!Array.isArray(amount) || amount.some((item) => typeof item !== 'string'))
        throw new TypeError('operations must be a list of names');
    } else throw new TypeError(`unknown fault ${name}`);
  }
  return value as FaultProfile;
}

export class Faults {
  #profile: FaultProfile = {};
  #random = seededRandom(1);
  #harmed = 0;
  #counts: FaultCounts = noCounts();

  get profile(): FaultProfile {
    return this.#profile;
  }

  get counts(): FaultCounts {
    return { ...this.#counts };
  }

  /** Replaces the profile and restarts its random sequence and its counts. */
  set(profile: FaultProfile): void {
    this.#profile = checkFaultProfile(profile);
    this.#random = seededRandom(profile.seed ?? 1);
    this.#harmed = 0;
    this.#counts = noCounts();
  }

  clear(): void {
    this.set({});
  }

  plan(operation: string, writes: boolean): FaultPlan {
    const plan: FaultPlan = {
      delayMs: 0,
      refuse: undefined,
      loseAck: false,
      truncate: undefined,
      corruptRead: false,
      corruptWrite: false,
      position: 0,
    };
    this.#counts.requests++;
    const profile = this.#profile;
    if (profile.operations && !profile.operations.includes(operation)) return plan;
    if (this.#harmed >= (profile.harmedMax ?? Number.POSITIVE_INFINITY)) return plan;
    this.#fill(plan, profile, writes);
    const { delayMs, position, ...harms } = plan;
    if (delayMs > 0 || Object.values(harms).some(Boolean)) this.#harmed++;
    return plan;
  }

  #fill(plan: FaultPlan, profile: FaultProfile, writes: boolean): void {
    const happens = (rate: number | undefined) => this.#random() < (rate ?? 0);
    const min = profile.delayMsMin ?? 0;
    const max = Math.max(profile.delayMsMax ?? min, min);
    plan.position = this.#random();
    if (happens(profile.delayRate)) plan.delayMs = Math.max(1, Math.round(min + this.#random() * (max - min)));
    if (happens(profile.errorRate)) plan.refuse = 'error';
    else if (happens(profile.throttleRate)) plan.refuse = 'throttle';
    if (plan.delayMs > 0) this.#counts.delays++;
    if (plan.refuse === 'error') this.#counts.errors++;
    if (plan.refuse === 'throttle') this.#counts.throttles++;
    if (plan.refuse) return;
    if (writes) {
      plan.loseAck = happens(profile.lostAckRate);
      plan.corruptWrite = happens(profile.corruptWriteRate);
    } else {
      if (happens(profile.truncateRate)) plan.truncate = this.#random() < 0.5 ? 'broken' : 'clean';
      plan.corruptRead = happens(profile.corruptReadRate);
    }
    if (plan.loseAck) this.#counts.lostAcks++;
    if (plan.corruptWrite) this.#counts.corruptWrites++;
    if (plan.truncate) this.#counts.truncations++;
    if (plan.corruptRead) this.#counts.corruptReads++;
  }
}

function noCounts(): FaultCounts {
  return {
    requests: 0,
    errors: 0,
    throttles: 0,
    lostAcks: 0,
    delays: 0,
    truncations: 0,
    corruptReads: 0,
    corruptWrites: 0,
  };
}
