import type { DataOf, Operations } from '@holdfast/contract';
import { refreshCookie } from '../../http/authentication.ts';
import type { Handlers } from '../../http/call.ts';
import { type Cursors, pageOf } from '../../platform/cursor.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Person, Principal } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import type { MembershipsOf } from './memberships.ts';
import { presentSession, presentUser } from './present-user.ts';
import { type RefreshOptions, refreshSession } from './sessions/refresh-session.ts';
import { browserCookie, browserCookieWith, endedSessionCookies, sessionCookies } from './sessions/session-cookies.ts';
import type { Holder, Sessions } from './sessions/sessions.ts';
import type { LocalSignIn } from './sign-in/local-sign-in.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import { flowMs } from './sign-in/sign-in-flows.ts';
import type { SigningKeys } from './tokens/signing-keys.ts';
import { findUser } from './user-store.ts';

export interface AuthRoutes {
  database: Database;
  cursors: Cursors;
  keys: SigningKeys;
  sessions: Sessions;
  signIn: SignIn;
  local: LocalSignIn;
  refresh: RefreshOptions;
  membershipsOf: MembershipsOf;
  refreshLifetimeSeconds: number;
  /** The issuer people sign in with; undefined when none is configured. */
  issuer: string | undefined;
}

/** The dashboard. */
const home = '/';
const signInPage = '/sign-in';

export function authHandlers(options: AuthRoutes): Handlers {
  return { ...signInHandlers(options), ...sessionHandlers(options) };
}

function signInHandlers({ signIn, local, refresh, refreshLifetimeSeconds, issuer }: AuthRoutes): Handlers {
  return {
    startSignIn: async (call) => {
      const { location, browser } = await signIn.start(
        {
          redirectUri: call.query.redirect_uri,
          state: call.query.state,
          codeChallenge: call.query.code_challenge,
          identityOnly: call.query.scope === 'identity',
        },
        call.cookies[browserCookie],
      );
      return { location, cookies: [browserCookieWith(browser, flowMs / 1000)] };
    },
    finishSignIn: async (call) => {
      const end = await signIn
        .finish(call.query, call.cookies[browserCookie], call.origin)
        .catch((error: unknown) => ({ kind: 'return' as const, location: pageOfProblem(call.isNavigation, error) }));
      if (end.kind === 'return') return { location: end.location };
      return { location: home, cookies: sessionCookies(end.tokens, refreshLifetimeSeconds) };
    },
    signInLocally: async (call) => {
      const tokens = await local.signIn(call.query.token, call.origin);
      return { location: home, cookies: sessionCookies(tokens, refreshLifetimeSeconds) };
    },
    signInWithLink: async (call) => {
      const tokens = await local.signIn(call.body.token, call.origin);
      return { message: 'Signed in.', cookies: sessionCookies(tokens, refreshLifetimeSeconds) };
    },
    getSignInMethods: async () => ({ data: { provider: presentProvider(issuer), local: local.isAllowed } }),
    exchangeCode: async (call) => ({
      data: { ...(await signIn.exchange(call.body, call.origin)), tokenType: 'Bearer' },
    }),
    refreshTokens: async (call) => {
      if (call.body) return { data: await refreshSession(refresh, call.body.refreshToken, call.origin) };
      const token = call.cookies[refreshCookie];
      if (!token) throw invalid('refreshToken', 'is required');
      call.requireOwnOrigin();
      const tokens = await refreshSession(refresh, token, call.origin);
      return {
        data: { expiresIn: tokens.expiresIn },
        cookies: sessionCookies(tokens, refreshLifetimeSeconds),
      };
    },
  };
}

/** A person in a browser gets a page that says why they are not signed in; a program gets the error itself. */
function pageOfProblem(isNavigation: boolean, error: unknown): string {
  if (!isNavigation || !(error instanceof Problem)) throw error;
  const { reason } = error.details ?? {};
  return `${signInPage}?${new URLSearchParams({ problem: error.code, ...(typeof reason === 'string' ? { reason } : {}) })}`;
}

function presentProvider(issuer: string | undefined): DataOf<Operations['getSignInMethods']>['provider'] {
  if (issuer === undefined) return null;
  const { host } = new URL(issuer);
  return { kind: host === 'accounts.google.com' ? 'google' : 'other', host };
}

function sessionHandlers({ database, cursors, keys, sessions, membershipsOf }: AuthRoutes): Handlers {
  return {
    getMe: async (call) => ({
      data: await database.system(async (transaction) => {
        const { userId } = personOf(call.principal);
        const user = await findUser(transaction, userId);
        if (!user) throw new Problem('UNAUTHORIZED', 'The session has ended. Sign in again.');
        return presentUser(user, await membershipsOf(transaction, userId, { hold: false }));
      }),
    }),
    logout: async (call) => {
      const person = personOf(call.principal);
      await sessions.revoke(holderOf(person), person.sessionId, call.origin, 'auth.signed_out');
      return { message: 'Signed out.', cookies: endedSessionCookies() };
    },
    listSessions: async (call) => {
      const { userId, sessionId } = personOf(call.principal);
      const { limit, cursor } = call.query;
      const rows = await sessions.list(userId, cursors.read('sessions', userId, cursor), limit + 1);
      const page = pageOf(rows, limit, (row) => cursors.write('sessions', userId, row.id));
      return { data: page.rows.map((row) => presentSession(row, sessionId)), nextCursor: page.nextCursor };
    },
    revokeSession: async (call) => {
      const holder = holderOf(personOf(call.principal));
      const ended = await sessions.revoke(holder, call.params.sessionId, call.origin, 'auth.session_revoked');
      if (!ended) throw new Problem('NOT_FOUND', 'There is no such session.');
      return { message: 'The session was revoked.' };
    },
    getSigningKeys: async () => ({
      data: { keys: (await keys.published()) as DataOf<Operations['getSigningKeys']>['keys'] },
    }),
  };
}

function personOf(principal: Principal): Person {
  if (principal.kind !== 'person') throw new Error('this call is for people');
  return principal;
}

function holderOf(person: Person): Holder {
  return { id: person.userId, email: person.email, name: person.name };
}
