import { Callers } from '../callers.ts';
import { foundOrganization, signUp } from '../people.ts';
import type { TestApp } from '../test-app.ts';

const mib = 1024 * 1024;
const sampleEveryMs = 50;

/** What a fuzz may cost others. */
export interface Toll {
  /** The slowest answer that another tenant got meanwhile. */
  slowestMs: number;
  answers: number;
  memoryGrowthMib: number;
}

/** Another tenant of the same process, who keeps calling while somebody else does harm. */
export class Neighbour {
  readonly #callers: Callers;
  readonly #timer: NodeJS.Timeout;
  #before = 0;
  #most = 0;

  private constructor(callers: Callers) {
    this.#callers = callers;
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, process.memoryUsage.rss());
    }, sampleEveryMs);
  }

  static async moveIn(app: TestApp): Promise<Neighbour> {
    const owner = await signUp(app, 'neighbour@example.com');
    const organizationId = await foundOrganization(app, owner);
    const headers = { authorization: `Bearer ${owner.token}`, 'x-organization-id': organizationId };
    const url = `${app.address}/api/v1/backups`;
    return new Neighbour(new Callers({ url, identities: [headers], callers: 1, pauseMs: 20 }));
  }

  /** Starts the measurement, after everything was loaded and compiled. */
  async begin(): Promise<void> {
    await this.#callers.latencies();
    this.#before = this.#most = process.memoryUsage.rss();
  }

  async end(): Promise<Toll> {
    clearInterval(this.#timer);
    const latencies = await this.#callers.latencies();
    await this.#callers.stop();
    return {
      slowestMs: Math.round(latencies.reduce((most, one) => Math.max(most, one), 0)),
      answers: latencies.length,
      memoryGrowthMib: Math.round((this.#most - this.#before) / mib),
    };
  }
}

/** Counts how cases ended, by code. */
export class Outcomes {
  readonly #counts = new Map<string, number>();
  readonly faults: string[] = [];

  add(outcome: string): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  report(name: string, toll: Toll): void {
    const counts = [...this.#counts].sort(([, left], [, right]) => right - left);
    process.stdout.write(`fuzz ${name}: ${JSON.stringify({ ...toll, outcomes: Object.fromEntries(counts) })}\n`);
  }
}

/** Runs many cases, a few at a time. */
export async function inLanes(cases: number, lanes: number, run: (index: number, lane: number) => Promise<void>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(lanes, cases) }, async (_, lane) => {
      while (next < cases) await run(next++, lane);
    }),
  );
}
