import { type DataOf, type Operations, operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { invalid } from '../../../platform/problem.ts';
import { authorizeChange } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit, emit } from '../events-and-audit.ts';
import { changeOrganization, type OrganizationRow } from '../organization-store.ts';
import { purgeOrganization } from './purge-organization.ts';

const recoveryMs = 30 * dayMs;
const { role } = operations.deleteOrganization.access;
type Deleted = DataOf<Operations['deleteOrganization']>;

/** Soft: everything stays, unreachable, until the deadline. With `force` everything goes in one transaction. */
export function deleteOrganization(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
  wanted: { force: boolean; confirmName: string },
): Promise<Deleted> {
  return wanted.force
    ? context.database.system((transaction) => remove(context, transaction, organizationId, caller, wanted.confirmName))
    : context.database.tenant(organizationId, (transaction) =>
        hide(context, transaction, organizationId, caller, wanted.confirmName),
      );
}

async function hide(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  caller: Caller,
  confirmName: string,
): Promise<Deleted> {
  const { organization } = await authorizeChange(transaction, organizationId, caller, role);
  requireName(organization, confirmName);
  const deletedAt = context.clock.now();
  const recoveryDeadline = new Date(deletedAt.getTime() + recoveryMs);
  await changeOrganization(transaction, organizationId, deletedAt, { deletedAt, recoveryDeadline });
  await emit(context, transaction, caller, organization, 'organization.deleted', { deletionType: 'soft' });
  await audit(context, transaction, caller, organizationId, {
    action: 'organization.deleted',
    resource: { type: 'organization', id: organizationId },
    details: { deletionType: 'soft', recoveryDeadline: recoveryDeadline.toISOString() },
  });
  return {
    id: organizationId,
    deleted: true,
    deletionType: 'soft',
    recoveryDeadline: recoveryDeadline.toISOString(),
  };
}

/** The event is written before the purge, so that its hooks can still hand it to the organization's webhooks. */
async function remove(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  caller: Caller,
  confirmName: string,
): Promise<Deleted> {
  const { organization } = await authorizeChange(transaction, organizationId, caller, role);
  requireName(organization, confirmName);
  await emit(context, transaction, caller, organization, 'organization.deleted', { deletionType: 'permanent' });
  await purgeOrganization(context, transaction, organizationId, 'deleted by its owner');
  return { id: organizationId, deleted: true, deletionType: 'permanent', recoveryDeadline: null };
}

function requireName(organization: OrganizationRow, confirmName: string): void {
  if (organization.name !== confirmName.trim())
    throw invalid('confirmName', 'is not the name of the organization, so nothing was deleted');
}
