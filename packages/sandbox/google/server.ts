/**
 * The few Google REST and OAuth calls of a backup service, on one port. Every API may use the same origin because their
 * paths do not overlap; the auth emulator's prefixed paths work too.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { handleAccounts } from './accounts.ts';
import { DropConnection, type Fault, Faults } from './faults.ts';
import { authorize, exchangeToken, type OAuthDependencies, revoke, tokenInfo } from './oauth.ts';
import { OidcIssuer, userInfo } from './oidc.ts';
import {
  getDatabase,
  listDatabases,
  listFirebaseProjects,
  listResourceProjects,
  requireProject,
  searchResourceProjects,
} from './projects.ts';
import {
  GoogleError,
  OAuthError,
  parseJsonObject,
  permissionDenied,
  readBody,
  sendJson,
  unauthenticated,
} from './respond.ts';
import { emulatorOwner, type GoogleSeed, GoogleState, type ServiceAccountKey, userKey } from './state.ts';
import { type AccessToken, TokenStore } from './tokens.ts';

export interface GoogleSandboxOptions extends GoogleSeed {
  readonly port?: number;
  readonly host?: string;
}

/** What tests and demos change without Google's APIs. */
export interface GoogleSandboxControl {
  readonly state: GoogleState;
  setFaults(faults: readonly Fault[]): void;
  createServiceAccount(projectId: string, name?: string): ServiceAccountKey;
  /** Issues an access token without a sign-in. */
  issueAccessToken(email: string, scope?: string, seconds?: number): string;
  /** Issues a refresh token for the given client without a sign-in. */
  issueRefreshToken(email: string, clientId?: string): string;
  verifyAccessToken(token: string): AccessToken | undefined;
  expireAccessTokens(): void;
  revokeConsent(email: string): void;
  importedHash(projectId: string, localId: string): Record<string, unknown> | undefined;
}

export interface GoogleSandbox {
  readonly url: string;
  /** In the form of `GOOGLE_API_ENDPOINTS`. */
  readonly endpoints: {
    readonly oauth2: string;
    readonly firebase: string;
    readonly cloudresourcemanager: string;
    readonly identitytoolkit: string;
  };
  readonly control: GoogleSandboxControl;
  stop(): Promise<void>;
}

interface Context extends OAuthDependencies {
  readonly faults: Faults;
}

export async function startGoogleSandbox(options: GoogleSandboxOptions = {}): Promise<GoogleSandbox> {
  const state = new GoogleState(options);
  const tokens = new TokenStore(state.now);
  const faults = new Faults();
  let context: Context | undefined;
  const server = createServer((request, response) => void handle(context!, request, response));
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  context = { state, tokens, faults, issuer: new OidcIssuer(url) };
  return {
    url,
    endpoints: { oauth2: url, firebase: url, cloudresourcemanager: url, identitytoolkit: url },
    control: controlOf(context),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function controlOf({ state, tokens, faults, issuer }: Context): GoogleSandboxControl {
  const everything = 'https://www.googleapis.com/auth/cloud-platform';
  const clientId = () => [...state.clients.keys()][0]!;
  return {
    state,
    setFaults: (list) => faults.set(list),
    createServiceAccount: (projectId, name = 'holdfast') =>
      state.addServiceAccount(projectId, name, `${issuer.url}/token`),
    issueAccessToken: (email, scope = everything, seconds = state.accessTokenSeconds) =>
      tokens.issueAccess({ email, clientId: clientId(), scope }, seconds),
    issueRefreshToken: (email, client = clientId()) =>
      tokens.issueRefresh({ email, clientId: client, scope: everything }),
    verifyAccessToken: (token) => tokens.access(token),
    expireAccessTokens: () => tokens.expireAccessTokens(),
    revokeConsent: (email) => tokens.revokePerson(email),
    importedHash: (projectId, localId) => state.projects.get(projectId)?.hashes.get(userKey(undefined, localId)),
  };
}

async function handle(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const path = url.pathname.replace(/^\/[a-z0-9.]+\.googleapis\.com(?=\/)/, '');
    const body = await readBody(request);
    await context.faults.apply(path);
    if (path === '/o/oauth2/v2/auth') {
      response.writeHead(302, { location: authorize(context, url.searchParams) }).end();
      return;
    }
    const call = { request, path, query: url.searchParams, body };
    sendJson(response, 200, openCall(context, call) ?? callApi(context, call));
  } catch (error) {
    answerError(response, error);
  }
}

function answerError(response: ServerResponse, error: unknown): void {
  if (error instanceof DropConnection) response.destroy();
  else if (error instanceof GoogleError || error instanceof OAuthError) sendJson(response, error.code, error.body());
  else sendJson(response, 500, new GoogleError(500, 'INTERNAL', String(error)).body());
}

interface Call {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** Calls without a bearer token; undefined for other paths. */
function openCall(context: Context, { request, path, query, body }: Call): unknown {
  if (path === '/.well-known/openid-configuration') return context.issuer.discovery();
  if (path === '/oauth2/v3/certs') return context.issuer.keys();
  const form = new URLSearchParams(body);
  const parameter = (name: string) => query.get(name) ?? form.get(name);
  if (path === '/tokeninfo' || path === '/oauth2/v3/tokeninfo') return tokenInfo(context, parameter('access_token'));
  if (path === '/revoke' && request.method === 'POST') return revoke(context, parameter('token'));
  if (path === '/token' && request.method === 'POST') {
    const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    return exchangeToken(context, form, basic);
  }
  return undefined;
}

function callApi(context: Context, { request, path, query, body }: Call): unknown {
  const { state } = context;
  const caller = authenticate(context, request);
  const method = request.method ?? 'GET';
  if (path === '/v1/userinfo' || path === '/oauth2/v3/userinfo') {
    const person = state.people.get(caller.email);
    if (person === undefined) throw unauthenticated();
    return userInfo(person, caller.scope);
  }
  if (method === 'GET') {
    if (path === '/v1beta1/projects') return listFirebaseProjects(state, caller.email, query);
    if (path === '/v1/projects') return listResourceProjects(state, caller.email, query);
    if (path === '/v3/projects:search') return searchResourceProjects(state, caller.email, query);
  }
  const match = /^\/(?:v1|v2|admin\/v2)\/projects\/([^/:]+)(.*)$/.exec(path);
  if (match === null)
    throw new GoogleError(404, 'NOT_FOUND', `The requested URL ${path} was not found on this server.`);
  const project = requireProject(state, decodeURIComponent(match[1]!), caller.email);
  const rest = match[2]!;
  if (method === 'GET' && rest === '/databases') return listDatabases(state, project);
  const database = /^\/databases\/([^/]+)$/.exec(rest);
  if (method === 'GET' && database !== null) return getDatabase(state, project, decodeURIComponent(database[1]!));
  const role = state.role(project, caller.email);
  if (method === 'GET' && rest === '/config' && path.startsWith('/admin/v2/')) {
    if (role !== 'owner') throw permissionDenied();
    const signIn = { email: { enabled: true, passwordRequired: true }, hashConfig: project.hashConfig };
    return { name: `projects/${project.projectNumber}/config`, signIn };
  }
  if (method === 'GET' && rest === '/tenants' && path.startsWith('/v2/')) {
    const ids = new Set([...project.users.values()].map(({ tenantId }) => tenantId).filter((id) => id !== undefined));
    return ids.size === 0
      ? {}
      : { tenants: [...ids].map((id) => ({ name: `projects/${project.projectId}/tenants/${id}` })) };
  }
  const accounts = /^(?:\/tenants\/([^/]+))?\/accounts(?::(\w+))?$/.exec(rest);
  if (accounts === null)
    throw new GoogleError(404, 'NOT_FOUND', `The requested URL ${path} was not found on this server.`);
  const tenantId = accounts[1] ?? query.get('tenantId') ?? undefined;
  return handleAccounts(accounts[2] ?? '', method, {
    state,
    project,
    role,
    tenantId,
    query,
    body: parseJsonObject(body),
  });
}

/** `Bearer owner` is the emulators' token for everything; any other token must be a valid one of ours. */
function authenticate(context: Context, request: IncomingMessage): { email: string; scope: string } {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (token === emulatorOwner) return { email: emulatorOwner, scope: 'openid email profile' };
  const known = token === undefined ? undefined : context.tokens.access(token);
  if (known === undefined) throw unauthenticated();
  return known;
}
