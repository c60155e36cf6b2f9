import { pathOf } from '@holdfast/contract';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Person, RequestOrigin } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { Holder, Sessions, TokenPair } from '../sessions/sessions.ts';
import { findOrCreateLocalOwner, localOwner } from '../user-store.ts';
import { dropLocalCodes, issueLocalCode, redeemCode } from './one-time-code-store.ts';

export interface LocalSignInOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  sessions: Sessions;
  /** Whether the link may be used: no identity provider is configured, or the operator keeps the link as well. */
  isAllowed: boolean;
  baseUrl: () => string;
  organizationsExist: (transaction: Transaction) => Promise<boolean>;
  createOrganization: CreateOrganization;
}

export type CreateOrganization = (founder: { principal: Person; origin: RequestOrigin }, name: string) => Promise<void>;

const firstOrganizationName = 'My organization';

/** The one-time link of a fresh installation, printed where only the operator can see it. */
export class LocalSignIn {
  readonly #options: LocalSignInOptions;

  constructor(options: LocalSignInOptions) {
    this.#options = options;
  }

  get isAllowed(): boolean {
    return this.#options.isAllowed;
  }

  /** A new link, or undefined when it would be refused. */
  async link(): Promise<string | undefined> {
    const { database, clock, isAllowed, baseUrl } = this.#options;
    if (!isAllowed) return undefined;
    const token = await database.system((transaction) => issueLocalCode(transaction, clock.now()));
    return `${baseUrl()}${pathOf('signInLocally')}?token=${token}`;
  }

  async signIn(token: string, origin: RequestOrigin): Promise<TokenPair> {
    const { database, ids, sessions, isAllowed, organizationsExist, createOrganization } = this.#options;
    if (!isAllowed) throw new Problem('UNAUTHORIZED', 'People sign in with the identity provider here.');
    const owner = await this.#redeem(token);
    if (!(await database.system(organizationsExist))) {
      const principal = { kind: 'person', userId: owner.id, sessionId: ids.next('ses'), ...localOwner } as const;
      await createOrganization({ principal: { ...principal, emailVerified: true }, origin }, firstOrganizationName);
    }
    return sessions.start(owner, origin, 'local');
  }

  #redeem(token: string): Promise<Holder> {
    const { database, clock, ids } = this.#options;
    return database.system(async (transaction) => {
      const now = clock.now();
      if (!(await redeemCode(transaction, 'local', token, now))) {
        throw new Problem('UNAUTHORIZED', 'The link has been used or is too old. Restart the server for a new one.');
      }
      await dropLocalCodes(transaction);
      return findOrCreateLocalOwner(transaction, now, ids);
    });
  }
}
