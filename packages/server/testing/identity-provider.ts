import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

export interface ProviderAccount {
  sub: string;
  email: string;
  email_verified: boolean;
  name: string;
  picture?: string;
}

export interface TestIdentityProvider {
  readonly issuer: string;
  /** The person at the next consent screen; undefined refuses consent. */
  account: ProviderAccount | undefined;
  close(): Promise<void>;
}

export const clientId = 'holdfast-test';
export const clientSecret = 'planted-client-secret-5f2c';

export interface ProviderOptions {
  redirectUris: string[];
  clientAuthentication?: 'client_secret_basic' | 'client_secret_post';
  /** Whether e-mail and name are in the id token, as with Google, or only at the userinfo endpoint. */
  claimsInIdToken?: boolean;
  codeSeconds?: number;
}

/** A real OpenID Connect provider on loopback. Its consent screen accepts for `account`. */
export async function startIdentityProvider(options: ProviderOptions): Promise<TestIdentityProvider> {
  const people = new Map<string, ProviderAccount>();
  const state: { account: ProviderAccount | undefined } = { account: undefined };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configuration(options, people));
  const callback = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return void callback(request, response);
    answer(provider, request, response, state.account, people).catch((error: Error) => {
      response.statusCode = 500;
      response.end(error.message);
    });
  });
  return {
    issuer,
    get account() {
      return state.account;
    },
    set account(account) {
      state.account = account;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configuration(options: ProviderOptions, people: Map<string, ProviderAccount>): Configuration {
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: options.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: options.clientAuthentication ?? 'client_secret_basic',
      },
    ],
    cookies: { keys: ['test'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
    conformIdTokenClaims: !options.claimsInIdToken,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: async () => true,
    pkce: { required: () => true },
    ttl: { AuthorizationCode: options.codeSeconds ?? 60, Grant: 600, Session: 600, Interaction: 600, IdToken: 600 },
    findAccount: async (_context, sub) => ({ accountId: sub, claims: async () => ({ ...people.get(sub), sub }) }),
  };
}

async function answer(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  account: ProviderAccount | undefined,
  people: Map<string, ProviderAccount>,
): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (!account) {
    const refusal = { error: 'access_denied', error_description: 'the person said no' };
    return provider.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false });
  }
  people.set(account.sub, account);
  if (prompt.name === 'login' || session?.accountId !== account.sub) {
    const login = { login: { accountId: account.sub } };
    return provider.interactionFinished(request, response, login, { mergeWithLastSubmission: false });
  }
  const kept = grantId ? await provider.Grant.find(grantId) : undefined;
  const grant = kept ?? new provider.Grant({ accountId: account.sub, clientId: String(params.client_id) });
  grant.addOIDCScope('openid email profile');
  const consent = { consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, consent, { mergeWithLastSubmission: true });
}
