import type { AuditAction } from '@holdfast/contract';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { RequestOrigin } from '../../../platform/principal.ts';
import type { AuditLog } from '../../audit/index.ts';
import type { MembershipsOf } from '../memberships.ts';
import type { AccessTokens } from '../tokens/access-tokens.ts';
import { createSecretToken, hashSecretToken, tokenPrefixes } from '../tokens/secret-tokens.ts';
import { endSessionOf, insertRefreshToken, insertSession, listSessions, type SessionRow } from './session-store.ts';

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
}

/**
 * A browser keeps no cookie beyond 4 KiB, so a token names at most this many organizations. They are only information
 * for the client: rights are read from the database.
 */
const organizationsInTokenMax = 40;

/** Who a session belongs to, for its tokens and its audit rows. */
export interface Holder {
  id: string;
  email: string;
  name: string;
}

export type SignInMethod = 'provider' | 'code' | 'local';

export interface SessionsOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  audit: AuditLog;
  tokens: AccessTokens;
  membershipsOf: MembershipsOf;
  refreshLifetimeMs: number;
}

/** Sign-ins: one session each, with a family of refresh tokens. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  async start(holder: Holder, origin: RequestOrigin, method: SignInMethod): Promise<TokenPair> {
    const { database, clock, ids } = this.#options;
    const now = clock.now();
    const sessionId = ids.next('ses');
    const refreshToken = createSecretToken(tokenPrefixes.refresh);
    const organizations = await database.system(async (transaction) => {
      await insertSession(transaction, {
        id: sessionId,
        userId: holder.id,
        ip: origin.ip,
        userAgent: origin.userAgent,
        createdAt: now,
        lastUsedAt: now,
        expiresAt: this.sessionEnd(now),
      });
      await this.addRefreshToken(transaction, sessionId, refreshToken, now);
      return this.auditInOrganizations(transaction, holder, origin, 'auth.signed_in', sessionId, { method });
    });
    return { ...(await this.sign(holder, sessionId, organizations)), refreshToken };
  }

  /** Revokes the session and every token of its family at once. False when it had already ended. */
  revoke(holder: Holder, sessionId: string, origin: RequestOrigin, action: AuditAction): Promise<boolean> {
    const { database, clock } = this.#options;
    const now = clock.now();
    return database.system(async (transaction) => {
      if (!(await endSessionOf(transaction, holder.id, sessionId, now))) return false;
      await this.auditInOrganizations(transaction, holder, origin, action, sessionId);
      return true;
    });
  }

  /** Newest first, starting below the given id. */
  list(userId: string, belowId: string | undefined, limit: number): Promise<SessionRow[]> {
    const now = this.#options.clock.now();
    return this.#options.database.system((transaction) => listSessions(transaction, userId, { now, belowId, limit }));
  }

  async sign(holder: Holder, sessionId: string, organizations: string[]): Promise<Omit<TokenPair, 'refreshToken'>> {
    const { tokens, ids } = this.#options;
    const claims = {
      userId: holder.id,
      sessionId,
      email: holder.email,
      name: holder.name,
      organizations: organizations.slice(0, organizationsInTokenMax),
    };
    return { accessToken: await tokens.sign(claims, ids.next('ses')), expiresIn: tokens.lifetimeSeconds };
  }

  async addRefreshToken(transaction: Transaction, sessionId: string, token: string, now: Date): Promise<void> {
    const expiresAt = new Date(now.getTime() + this.#options.refreshLifetimeMs);
    await insertRefreshToken(transaction, { hash: hashSecretToken(token), sessionId, createdAt: now, expiresAt });
  }

  /** A session ends after the newest of its tokens. */
  sessionEnd(now: Date): Date {
    const { refreshLifetimeMs, tokens } = this.#options;
    return new Date(now.getTime() + Math.max(refreshLifetimeMs, tokens.lifetimeSeconds * 1000));
  }

  /** Writes one audit row in each of the person's organizations; returns their ids, in order. */
  async auditInOrganizations(
    transaction: Transaction,
    holder: Holder,
    origin: RequestOrigin,
    action: AuditAction,
    sessionId: string,
    details: Record<string, unknown> = {},
  ): Promise<string[]> {
    const memberships = await this.#options.membershipsOf(transaction, holder.id, { hold: true });
    for (const { id } of memberships) {
      await this.#options.audit.write(transaction, {
        organizationId: id,
        action,
        actor: { type: 'user', id: holder.id, email: holder.email },
        resource: { type: 'session', id: sessionId },
        origin,
        details,
      });
    }
    return memberships.map(({ id }) => id);
  }
}
