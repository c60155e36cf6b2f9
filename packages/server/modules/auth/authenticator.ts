import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Plan, Role, Scope } from '@holdfast/contract';
import type { Authenticator, Identity } from '../../http/authentication.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { functionCall } from '../../platform/database/statement.ts';
import { minuteMs } from '../../platform/durations.ts';
import type { Principal } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { hashApiKey, isWellFormedApiKey, looksLikeApiKey } from './tokens/api-key.ts';

interface PersonRow {
  email: string;
  email_verified: boolean;
  name: string;
  organization_id: string | null;
  organization_name: string | null;
  plan: Plan | null;
  role: Role | null;
  active_at: Date | null;
  used_at: Date;
}

interface KeyRow {
  id: string;
  email: string;
  permissions: Scope[];
  organization_id: string;
  organization_name: string;
  plan: Plan;
  deleted: boolean;
  used_at: Date | null;
  owner_id: string | null;
}

const personCall = functionCall<[string, string, string | null, Date], PersonRow>(
  'select * from holdfast_identify_person($1, $2, $3, $4)',
);
const keyCall = functionCall<[string, Date], KeyRow>('select * from holdfast_identify_owned_key($1, $2)');

/** `lastActiveAt` and `lastUsedAt` are written at most this often. */
export const activityMs = minuteMs;

/** Receives uses that should be saved; the methods return at once and never fail. */
export interface ActivityNotes {
  personActive(organizationId: string, userId: string): void;
  keyUsed(organizationId: string, serviceAccountId: string): void;
}

export interface SessionNotes {
  note(sessionId: string): void;
}

/**
 * Turns a bearer token into an identity. Session, membership, role and plan are read from the database on every call,
 * never from the token.
 */
export class DatabaseAuthenticator implements Authenticator {
  readonly #database: Database;
  readonly #tokens: AccessTokens;
  readonly #clock: Clock;
  readonly #activity: ActivityNotes;
  readonly #sessions: SessionNotes;
  readonly #gathering = new Map<string, Promise<Identity>>();

  constructor(options: {
    database: Database;
    tokens: AccessTokens;
    clock: Clock;
    activity: ActivityNotes;
    sessions: SessionNotes;
  }) {
    this.#database = options.database;
    this.#tokens = options.tokens;
    this.#clock = options.clock;
    this.#activity = options.activity;
    this.#sessions = options.sessions;
  }

  /** Concurrent calls with the same credential share one look-up, sent after the last of them arrived. */
  identify(token: string, organizationId: string | undefined): Promise<Identity> {
    const asked = organizationId === undefined ? token : `${token} ${organizationId}`;
    const shared = this.#gathering.get(asked);
    if (shared) return shared;
    const identity = nextTurn().then(() => {
      this.#gathering.delete(asked);
      return looksLikeApiKey(token) ? this.#identifyKey(token) : this.#identifyPerson(token, organizationId);
    });
    this.#gathering.set(asked, identity);
    return identity;
  }

  async reidentify(principal: Principal, token: string, organizationId: string): Promise<Identity> {
    return principal.kind === 'person' ? this.#findPerson(principal, organizationId) : this.#identifyKey(token);
  }

  async #identifyPerson(token: string, organizationId: string | undefined): Promise<Identity> {
    return this.#findPerson(await this.#tokens.verify(token), organizationId);
  }

  async #findPerson(
    { userId, sessionId }: { userId: string; sessionId: string },
    organizationId: string | undefined,
  ): Promise<Identity> {
    const now = this.#clock.now();
    const asked = organizationId?.slice(0, 100).replaceAll('\u0000', '') ?? null;
    const [row] = await this.#database.call(personCall, [sessionId, userId, asked, now]);
    if (!row) throw new Problem('UNAUTHORIZED', 'The session has ended. Sign in again.');
    if (isStale(row.used_at, now)) this.#sessions.note(sessionId);
    const principal = {
      kind: 'person',
      userId,
      sessionId,
      email: row.email,
      emailVerified: row.email_verified,
      name: row.name,
    } as const;
    if (organizationId === undefined) return { principal, organization: undefined };
    if (row.organization_id === null) return { principal, organization: 'not-found' };
    if (row.role === null) return { principal, organization: 'not-a-member' };
    if (isStale(row.active_at, now)) this.#activity.personActive(row.organization_id, userId);
    const organization = {
      id: row.organization_id,
      name: row.organization_name as string,
      plan: row.plan as Plan,
      role: row.role,
    };
    return { principal, organization };
  }

  async #identifyKey(token: string): Promise<Identity> {
    if (!isWellFormedApiKey(token)) throw new Problem('UNAUTHORIZED', 'The API key is not valid.');
    const now = this.#clock.now();
    const [row] = await this.#database.call(keyCall, [hashApiKey(token), now]);
    if (!row) throw new Problem('UNAUTHORIZED', 'The API key is not valid.');
    const principal = {
      kind: 'key',
      serviceAccountId: row.id,
      organizationId: row.organization_id,
      ownerId: row.owner_id,
      email: row.email,
      scopes: row.permissions,
    } as const;
    if (row.deleted) return { principal, organization: 'not-found' };
    if (isStale(row.used_at, now)) this.#activity.keyUsed(row.organization_id, row.id);
    return {
      principal,
      organization: { id: row.organization_id, name: row.organization_name, plan: row.plan, role: null },
    };
  }
}

function isStale(noted: Date | null, now: Date): boolean {
  return !noted || now.getTime() - noted.getTime() >= activityMs;
}
