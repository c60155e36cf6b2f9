import { organizationNotFound } from '../authorize-change.ts';
import type { OrganizationsContext } from '../context.ts';
import { audit, emit } from '../events-and-audit.ts';
import { findMember } from '../members/member-store.ts';
import { changeOrganization, lockDeletedOrganization, type OrganizationRow } from '../organization-store.ts';
import type { Founder } from './create-organization.ts';

const idPattern = /^org_[0-9A-Za-z]{1,60}$/;

/** Only for the former owner, and only until the deadline; for everyone else the organization does not exist. */
export async function recoverOrganization(
  context: OrganizationsContext,
  organizationId: string,
  caller: Founder,
): Promise<OrganizationRow> {
  if (!idPattern.test(organizationId)) throw organizationNotFound();
  return context.database.tenant(organizationId, async (transaction) => {
    const now = context.clock.now();
    const deleted = await lockDeletedOrganization(transaction, organizationId, now);
    const member = await findMember(transaction, organizationId, caller.principal.userId);
    if (!deleted || member?.role !== 'owner') throw organizationNotFound();
    const change = { deletedAt: null, recoveryDeadline: null };
    const organization = await changeOrganization(transaction, organizationId, now, change);
    await emit(context, transaction, caller, organization, 'organization.updated', {});
    await audit(context, transaction, caller, organizationId, {
      action: 'organization.recovered',
      resource: { type: 'organization', id: organizationId },
    });
    return organization;
  });
}
