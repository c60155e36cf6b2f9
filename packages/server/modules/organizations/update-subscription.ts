import { type BodyOf, type Operations, operations } from '@holdfast/contract';
import { differences } from '../../platform/differences.ts';
import { Problem } from '../../platform/problem.ts';
import { changeWithRole } from './authorize-change.ts';
import type { ConditionalCaller, OrganizationsContext } from './context.ts';
import { audit, emit } from './events-and-audit.ts';
import { changeOrganization, type OrganizationRow } from './organization-store.ts';
import { organizationEtag } from './present-organization.ts';

const { role } = operations.updateSubscription.access;

export async function updateSubscription(
  context: OrganizationsContext,
  organizationId: string,
  caller: ConditionalCaller,
  wanted: NonNullable<BodyOf<Operations['updateSubscription']>>,
): Promise<OrganizationRow> {
  return changeWithRole(context, organizationId, caller, role, async (transaction, { organization }) => {
    caller.requireMatch(organizationEtag(organization));
    const change = differences(organization, { plan: wanted.plan, billingCycle: wanted.billingCycle });
    if (Object.keys(change).length === 0) return organization;
    if (change.plan !== undefined && context.config.PLAN_CHANGES === 'operator')
      throw new Problem('FORBIDDEN', 'Only the operator of this installation changes plans.', {
        details: { reason: 'plan_changes_closed' },
      });
    const changed = await changeOrganization(transaction, organizationId, context.clock.now(), change);
    await emit(context, transaction, caller, changed, 'organization.updated', {});
    await audit(context, transaction, caller, organizationId, {
      action: 'subscription.updated',
      resource: { type: 'organization', id: organizationId },
      details: { changes: change },
    });
    return changed;
  });
}
