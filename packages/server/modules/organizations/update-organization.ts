import { type BodyOf, type Operations, operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { differences } from '../../platform/differences.ts';
import { invalid } from '../../platform/problem.ts';
import { changeWithRole } from './authorize-change.ts';
import type { ConditionalCaller, OrganizationsContext } from './context.ts';
import { audit, emit } from './events-and-audit.ts';
import { changeOrganization, type OrganizationRow } from './organization-store.ts';
import { organizationEtag } from './present-organization.ts';

const { role } = operations.updateOrganization.access;

/** Changes only what is given. When nothing changes, no event or audit row is written. */
export async function updateOrganization(
  context: OrganizationsContext,
  organizationId: string,
  caller: ConditionalCaller,
  wanted: NonNullable<BodyOf<Operations['updateOrganization']>>,
): Promise<OrganizationRow> {
  return changeWithRole(context, organizationId, caller, role, async (transaction, { organization }) => {
    caller.requireMatch(organizationEtag(organization));
    const change = differences(organization, {
      name: wanted.name,
      timezone: wanted.settings?.timezone,
      defaultStorageId: wanted.settings?.defaultStorageId,
      notifications: wanted.settings?.notifications,
    });
    if (Object.keys(change).length === 0) return organization;
    if (change.defaultStorageId)
      await requireStorage(context, transaction, organizationId, change.defaultStorageId as string);
    const changed = await changeOrganization(transaction, organizationId, context.clock.now(), change);
    await emit(context, transaction, caller, changed, 'organization.updated', {});
    await audit(context, transaction, caller, organizationId, {
      action: 'organization.updated',
      resource: { type: 'organization', id: organizationId },
      details: { changes: change },
    });
    return changed;
  });
}

async function requireStorage(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  storageId: string,
): Promise<void> {
  if (await context.later.storageExists(transaction, organizationId, storageId)) return;
  throw invalid('settings.defaultStorageId', 'names no storage destination of this organization');
}
