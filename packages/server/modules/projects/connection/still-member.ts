import { type Role, roleAtLeast } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { ProjectsContext } from '../context.ts';

/** A database may answer slowly: a person who was a member when the call began may have been removed meanwhile. */
export async function requireStillMember(
  context: ProjectsContext,
  transaction: Transaction,
  { organization, principal }: Caller,
  least: Role,
): Promise<void> {
  if (principal.kind !== 'person') return;
  const role = await context.roleUnderLock(transaction, organization.id, principal.userId);
  if (role === undefined) throw new Problem('FORBIDDEN', 'You are not a member of this organization.');
  if (roleAtLeast(role, least)) return;
  const details = { requiredRole: least, currentRole: role };
  throw new Problem('PERMISSION_DENIED', `This needs the role ${least}; yours is ${role}.`, { details });
}
