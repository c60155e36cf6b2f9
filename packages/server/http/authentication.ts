import type { Operation } from '@holdfast/contract';
import type { FastifyRequest } from 'fastify';
import { anonymous, type OrganizationAccess, type Principal } from '../platform/principal.ts';
import { invalid, Problem, requirePlan } from '../platform/problem.ts';
import { requireRight } from '../platform/rights.ts';

/** Cookies of a browser session. */
export const accessCookie = 'holdfast_access';
export const refreshCookie = 'holdfast_refresh';

export interface Credential {
  token: string;
  via: 'bearer' | 'cookie';
}

/** The result of a credential, read from the database on every call. */
export interface Identity {
  principal: Principal;
  /** The requested organization, or why the caller has no access to it; undefined when none was requested. */
  organization: OrganizationAccess | 'not-found' | 'not-a-member' | undefined;
}

/** Implemented by the auth module; throws UNAUTHORIZED for an invalid credential. */
export interface Authenticator {
  identify(token: string, organizationId: string | undefined): Promise<Identity>;
  /**
   * The same for a caller whose token was valid earlier: the token may have expired, but its session or key must still
   * be valid.
   */
  reidentify(principal: Principal, token: string, organizationId: string): Promise<Identity>;
}

export interface Admission {
  principal: Principal;
  organization: OrganizationAccess | null;
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Identifies the caller and checks the operation's access: the whole permission check, in one place. */
export async function admit(
  operation: Operation,
  request: FastifyRequest,
  authenticator: Authenticator,
  publicOrigin: () => string,
): Promise<Admission> {
  if (operation.access.kind === 'public') return { principal: anonymous, organization: null };
  const credential = readCredential(request);
  if (!credential)
    throw new Problem('UNAUTHORIZED', 'Send an access token or an API key as Authorization: Bearer <token>.');
  if (credential.via === 'cookie') requireSameOrigin(request, publicOrigin());
  const organizationId = readOrganizationId(request);
  const wanted = operation.access.kind === 'organization' ? organizationId : undefined;
  const { principal, organization } = await authenticator.identify(credential.token, wanted);
  request.principal = principal;
  if (operation.access.kind === 'person') return { principal: requirePerson(principal), organization: null };
  return { principal, organization: admitToOrganization(operation, principal, organization, organizationId, request) };
}

/** Whether a caller would still be admitted, for answers that last long. */
export async function isStillAdmitted(
  operation: Operation,
  request: FastifyRequest,
  { principal, organization }: Admission,
  authenticator: Authenticator,
): Promise<boolean> {
  const credential = readCredential(request);
  if (!credential || !organization || principal.kind === 'anonymous') return true;
  try {
    const now = await authenticator.reidentify(principal, credential.token, organization.id);
    admitToOrganization(operation, now.principal, now.organization, organization.id, request);
    return true;
  } catch (error) {
    // A short outage of the database is no reason to end anything.
    return !(error instanceof Problem);
  }
}

function readCredential(request: FastifyRequest): Credential | undefined {
  if (request.headers.authorization !== undefined) {
    const token = bearerOf(request);
    if (!token) throw new Problem('UNAUTHORIZED', 'The Authorization header must have the form Bearer <token>.');
    return { token, via: 'bearer' };
  }
  const cookie = request.cookies[accessCookie];
  return cookie ? { token: cookie, via: 'cookie' } : undefined;
}

export function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** A browser sends cookies with the calls of any page; the Origin says whether the page was ours. */
function requireSameOrigin(request: FastifyRequest, publicOrigin: string): void {
  if (safeMethods.has(request.method)) return;
  requireOwnOrigin(request, publicOrigin);
}

export function requireOwnOrigin(request: FastifyRequest, publicOrigin: string): void {
  if (request.headers.origin === publicOrigin) return;
  throw new Problem('FORBIDDEN', 'A call with session cookies must come from the dashboard itself.');
}

function readOrganizationId(request: FastifyRequest): string | undefined {
  const header = request.headers['x-organization-id'];
  const value = Array.isArray(header) ? header[0] : header;
  return value?.trim() || undefined;
}

function requirePerson(principal: Principal): Principal {
  if (principal.kind === 'person') return principal;
  throw new Problem('FORBIDDEN', 'This call is for signed-in people; an API key cannot make it.');
}

function admitToOrganization(
  operation: Operation,
  principal: Principal,
  organization: Identity['organization'],
  organizationId: string | undefined,
  request: FastifyRequest,
): OrganizationAccess {
  if (operation.access.kind !== 'organization') throw new Error('only organization calls are admitted here');
  if (principal.kind === 'key' && organizationId !== undefined && organizationId !== principal.organizationId) {
    throw new Problem('FORBIDDEN', 'This API key belongs to another organization.');
  }
  if (organization === undefined) throw invalid('X-Organization-Id', 'this header is required');
  if (organization === 'not-found') throw new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
  if (organization === 'not-a-member') {
    request.foreignOrganizationId = organizationId ?? null;
    throw new Problem('FORBIDDEN', 'You are not a member of this organization.');
  }
  request.organization = organization;
  if (!concernsSelf(operation, principal, request)) requireRight(operation.access, { principal, organization });
  if (operation.plan && !operation.planCheck) requirePlan(organization.plan, operation.plan);
  return organization;
}

function concernsSelf(operation: Operation, principal: Principal, request: FastifyRequest): boolean {
  if (principal.kind !== 'person' || operation.selfParameter === undefined) return false;
  return (request.params as Record<string, string>)[operation.selfParameter] === principal.userId;
}
