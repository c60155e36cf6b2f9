import { type Access, operations, roleAtLeast, scopesCover } from '@holdfast/contract';
import type { Caller } from './principal.ts';
import { Problem } from './problem.ts';

export type OrganizationRight = Access & { kind: 'organization' };

/** Whether requireRight would let the caller pass. */
export function hasRight(
  { role, scope }: OrganizationRight,
  { principal, organization }: Pick<Caller, 'principal' | 'organization'>,
): boolean {
  if (principal.kind === 'key') return scope !== null && scopesCover(principal.scopes, scope);
  return organization.role !== null && organization.role !== undefined && roleAtLeast(organization.role, role);
}

/** Checks the role of a person or the scope of a key. */
export function requireRight(
  { role, scope }: OrganizationRight,
  { principal, organization }: Pick<Caller, 'principal' | 'organization'>,
  what = 'This',
): void {
  if (principal.kind === 'key') {
    if (scope === null) throw new Problem('FORBIDDEN', 'An API key may never make this call.');
    if (scopesCover(principal.scopes, scope)) return;
    const details = { requiredScope: scope };
    throw new Problem('FORBIDDEN', `${what} needs the scope ${scope}; the API key lacks it.`, { details });
  }
  if (organization.role && roleAtLeast(organization.role, role)) return;
  const details = { requiredRole: role, currentRole: organization.role ?? ('viewer' as const) };
  throw new Problem('PERMISSION_DENIED', `${what} needs the role ${role}; yours is ${organization.role}.`, { details });
}

/** For every call that can also remove backups, so that nobody gets around the right to delete them. */
export function requireMayDeleteBackups(caller: Caller, what = 'Deleting backups'): void {
  requireRight(operations.deleteBackup.access, caller, what);
}
