import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { and, eq, getTableColumns, isNull, sql } from '../platform/database/orm.ts';
import { idempotencyKeys } from '../platform/database/tables.ts';
import { dayMs, secondMs } from '../platform/durations.ts';
import { idPartAt } from '../platform/ids.ts';
import { invalid, Problem } from '../platform/problem.ts';

const keptMs = dayMs;
/** A process that has not renewed a call's key within this time is considered dead; the key may be used again. */
const inFlightMs = 30 * secondMs;
const renewEveryMs = 10 * secondMs;
/**
 * By the database's clock, like everything that it is compared with: the clocks of two processes may differ by more.
 */
const heldFromNow = sql`clock_timestamp() + make_interval(secs => ${inFlightMs / secondMs})`;
const isLetGo = sql<boolean>`coalesce(${idempotencyKeys.lockedUntil} <= clock_timestamp(), false)`;
const askAgainSeconds = 2;
/** Covers a failover of the database: about a minute in all. */
const keepAgainAfterMs = [0.5, 1, 1, 2, 2, 5, 5, 10, 10, 30].map((seconds) => seconds * secondMs);

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Already answered, or to be carried out; then what it creates gets this id after its prefix. */
export type Begun = { answer: StoredAnswer } | { answer: undefined; newId: string };

export interface IdempotentRequest {
  scope: string;
  caller: string;
  key: string;
  hash: string;
}

export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = Array.isArray(header) ? header.join(',') : header;
  if (key.length < 1 || key.length > 255) throw invalid('Idempotency-Key', 'must have 1 to 255 characters');
  return key;
}

export function requestHash(operationId: string, path: string, body: unknown): string {
  return createHash('sha256')
    .update(`${operationId}\n${path}\n${JSON.stringify(body ?? null)}`)
    .digest('hex');
}

/** Stores answers of POST calls, so that a repeated call is answered and not carried out again. */
export class IdempotencyStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Without a stored answer the caller now has the key and must end with `keep`, `forget` or `release`. */
  async begin(request: IdempotentRequest): Promise<Begun> {
    const now = this.#clock.now();
    return this.#database.system(async ({ orm }) => {
      const row = {
        ...this.#columns(request),
        newId: idPartAt(now),
        lockedUntil: heldFromNow,
        createdAt: now,
        expiresAt: new Date(now.getTime() + keptMs),
      };
      const inserted = await orm
        .insert(idempotencyKeys)
        .values(row)
        .onConflictDoNothing()
        .returning({ key: idempotencyKeys.key });
      if (inserted.length > 0) return { answer: undefined, newId: row.newId };
      const [kept] = await orm
        .select({ ...getTableColumns(idempotencyKeys), isLetGo })
        .from(idempotencyKeys)
        .where(this.#is(request))
        .for('update');
      const expired = !kept || kept.expiresAt <= now || (kept.status === null && kept.isLetGo);
      if (expired) {
        // The earlier try may have died or failed after its change: the id of what it created shows whether it did.
        const isSecondTry = kept && kept.expiresAt > now && kept.requestHash === request.hash;
        const newId = (isSecondTry ? kept.newId : null) ?? row.newId;
        await orm.delete(idempotencyKeys).where(this.#is(request));
        await orm.insert(idempotencyKeys).values({ ...row, newId });
        return { answer: undefined, newId };
      }
      if (kept.requestHash !== request.hash) {
        throw new Problem('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with a different request.');
      }
      if (kept.status === null)
        throw new Problem('CONFLICT', 'A request with this Idempotency-Key is still under way.', {
          retryAfterSeconds: askAgainSeconds,
        });
      return { answer: { status: kept.status, headers: kept.headers ?? {}, body: kept.body ?? '' } };
    });
  }

  /** Renews the key periodically while the call runs; the result stops that. */
  holdWhileRunning(request: IdempotentRequest, onFailure: (error: unknown) => void): () => void {
    const renew = () => {
      const change = { lockedUntil: heldFromNow };
      this.#database
        .system(({ orm }) => orm.update(idempotencyKeys).set(change).where(this.#isUnanswered(request)))
        .catch(onFailure);
    };
    const timer = setInterval(renew, renewEveryMs);
    return () => clearInterval(timer);
  }

  async keep(request: IdempotentRequest, answer: StoredAnswer): Promise<void> {
    const change = { ...answer, lockedUntil: null };
    await this.#database.system(({ orm }) => orm.update(idempotencyKeys).set(change).where(this.#is(request)));
  }

  /** For an answer that could not be stored at once. The caller keeps renewing the key until this has returned. */
  async keepLater(
    request: IdempotentRequest,
    answer: StoredAnswer,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    for (const pauseMs of keepAgainAfterMs) {
      await sleep(pauseMs, undefined, { ref: false });
      try {
        return await this.keep(request, answer);
      } catch (error) {
        onFailure(error);
      }
    }
  }

  /** The call was refused, so nothing was done and the key is free again. */
  async forget(request: IdempotentRequest): Promise<void> {
    await this.#database.system(({ orm }) => orm.delete(idempotencyKeys).where(this.#isUnanswered(request)));
  }

  /** The call failed, perhaps after its change: another try may start at once and finds what this one made. */
  async release(request: IdempotentRequest): Promise<void> {
    const change = { lockedUntil: sql`clock_timestamp()` };
    await this.#database.system(({ orm }) =>
      orm.update(idempotencyKeys).set(change).where(this.#isUnanswered(request)),
    );
  }

  #isUnanswered(request: IdempotentRequest) {
    return and(this.#is(request), isNull(idempotencyKeys.status));
  }

  #is(request: IdempotentRequest) {
    return and(
      eq(idempotencyKeys.scope, request.scope),
      eq(idempotencyKeys.caller, request.caller),
      eq(idempotencyKeys.key, request.key),
    );
  }

  #columns(request: IdempotentRequest) {
    return { scope: request.scope, caller: request.caller, key: request.key, requestHash: request.hash };
  }
}
