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
  /** Who owns that organization. */
  readonly ownerId: string | null;
  readonly email: string;
  readonly scopes: readonly Scope[];
}

export interface Anonymous {
  readonly kind: 'anonymous';
}

export const anonymous: Anonymous = { kind: 'anonymous' };

/** The organization a call is made in, and what the caller is there. */
export interface OrganizationAccess {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Null for an API key, whose scopes decide. */
  readonly role: Role | null;
}

/** Where a call came from; goes into audit rows and logs. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /**
   * With an Idempotency-Key: what the call creates gets this id, behind its prefix, in every try. Who finds it there
   * already answers with it: the process that made it died before it had answered.
   */
  newId?: string;
}

/** Who makes a call, in which organization, from where. What a change needs to know of the call that wants it. */
export interface Caller {
  readonly organization: OrganizationAccess;
  readonly principal: Principal;
  readonly origin: RequestOrigin;
}

/** The same, for a change that may name the version of the resource it expects. */
export interface VersionedCaller extends Caller {
  readonly requireMatch: (etag: string) => void;
}

/** The caller's own id, unique across kinds. */
export function callerId(principal: Principal): string {
  if (principal.kind === 'person') return principal.userId;
  return principal.kind === 'key' ? principal.serviceAccountId : 'anonymous';
}

/** By what people know the caller. */
export const callerEmail = (principal: Principal): string | null =>
  principal.kind === 'anonymous' ? null : principal.email;
