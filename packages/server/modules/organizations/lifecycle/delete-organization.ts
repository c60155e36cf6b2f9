import { type DataOf, type Operations, operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { invalid, Problem } from '../../../platform/problem.ts';
import { authorizeChange } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit, emit } from '../events-and-audit.ts';
import { changeOrganization, type OrganizationRow } from '../organization-store.ts';
import { purgeOrganization } from './purge-organization.ts';

const recoveryMs = 30 * dayMs;
const { role } = operations.deleteOrganization.access;
type Deleted = DataOf<Operations['deleteOrganization']>;

/**
 * A soft delete keeps everything, unreachable and paused, until the deadline. With `force` everything is removed in one
 * transaction.
 */
export function deleteOrganization(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
  { force, confirmName }: { force: boolean; confirmName: string },
): Promise<Deleted> {
  const change = async (transaction: Transaction) => {
    const { organization } = await authorizeChange(transaction, organizationId, caller, role);
    requireName(organization, confirmName);
    await requireNoHold(context, transaction, organizationId);
    return (force ? remove : hide)(context, transaction, organization, caller);
  };
  return force ? context.database.system(change) : context.database.tenant(organizationId, change);
}

async function hide(
  context: OrganizationsContext,
  transaction: Transaction,
  organization: OrganizationRow,
  caller: Caller,
): Promise<Deleted> {
  const deletedAt = context.clock.now();
  const recoveryDeadline = new Date(deletedAt.getTime() + recoveryMs);
  await changeOrganization(transaction, organization.id, deletedAt, { deletedAt, recoveryDeadline });
  await context.later.pauseWork(transaction, organization.id);
  await emit(context, transaction, caller, organization, 'organization.deleted', { deletionType: 'soft' });
  await audit(context, transaction, caller, organization.id, {
    action: 'organization.deleted',
    resource: { type: 'organization', id: organization.id },
    details: { deletionType: 'soft', recoveryDeadline: recoveryDeadline.toISOString() },
  });
  return {
    id: organization.id,
    deleted: true,
    deletionType: 'soft',
    recoveryDeadline: recoveryDeadline.toISOString(),
  };
}

/** The event is written before the purge, so that its hooks can still pass it to the organization's webhooks. */
async function remove(
  context: OrganizationsContext,
  transaction: Transaction,
  organization: OrganizationRow,
  caller: Caller,
): Promise<Deleted> {
  await emit(context, transaction, caller, organization, 'organization.deleted', { deletionType: 'permanent' });
  await purgeOrganization(context, transaction, organization.id, 'deleted by its owner');
  return { id: organization.id, deleted: true, deletionType: 'permanent', recoveryDeadline: null };
}

/** Holds for soft deletes too: nobody could lift the hold of a hidden organization before the deadline. */
async function requireNoHold(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
): Promise<void> {
  const held = await context.later.heldBackup(transaction, organizationId);
  if (held === undefined) return;
  const message = `The backup ${held} is under legal hold. Lift every hold first, then delete the organization.`;
  throw new Problem('INVALID_STATE', message, { details: {} });
}

function requireName(organization: OrganizationRow, confirmName: string): void {
  if (organization.name !== confirmName.trim())
    throw invalid('confirmName', 'is not the name of the organization, so nothing was deleted');
}
