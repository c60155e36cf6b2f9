import type { Plan, Role, Scope } from '@holdfast/contract';

/** Who makes a call. */
export type Principal = Person | ServiceAccountKey | Anonymous;

export interface Person {
  readonly kind: 'person';
  readonly userId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string;
  readonly sessionId: string;
}

export interface ServiceAccountKey {
  readonly kind: 'key';
  readonly serviceAccountId: string;
  readonly organizationId: string;
  /** The owner of that organization. */
  readonly ownerId: string | null;
  readonly email: string;
  readonly scopes: readonly Scope[];
}

export interface Anonymous {
  readonly kind: 'anonymous';
}

export const anonymous: Anonymous = { kind: 'anonymous' };

/** The organization of a call, and the caller's role in it. */
export interface OrganizationAccess {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Null for an API key: its scopes decide. */
  readonly role: Role | null;
}

/** Where a call came from, for audit rows and logs. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /**
   * For a call with an Idempotency-Key: what the call creates gets this id, after its prefix, in every try. A try that
   * finds the id already in use answers with that thing: an earlier try made it and died before it answered.
   */
  newId?: string;
}

/** Who makes a call, in which organization, from where: what a change needs to know of its call. */
export interface Caller {
  readonly organization: OrganizationAccess;
  readonly principal: Principal;
  readonly origin: RequestOrigin;
}

/** The same, for a change that may name the expected version of the resource. */
export interface VersionedCaller extends Caller {
  readonly requireMatch: (etag: string) => void;
}

/** The caller's own id, unique across kinds. */
export function callerId(principal: Principal): string {
  if (principal.kind === 'person') return principal.userId;
  return principal.kind === 'key' ? principal.serviceAccountId : 'anonymous';
}

/** The e-mail address of the caller, if it has one. */
export const callerEmail = (principal: Principal): string | null =>
  principal.kind === 'anonymous' ? null : principal.email;
