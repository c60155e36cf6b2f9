import type { Transaction } from '../../platform/database/database.ts';
import type { Caller } from '../../platform/principal.ts';
import type { OrganizationsContext } from './context.ts';
import { audit, emit } from './events-and-audit.ts';
import { changeOrganization, findOrganization } from './organization-store.ts';

/**
 * Sets the destination of backups that name none. It is a setting, so it is audited and sent as an event like the
 * others.
 */
export async function setDefaultStorage(
  context: OrganizationsContext,
  transaction: Transaction,
  { organization, principal, origin }: Caller,
  defaultStorageId: string | null,
): Promise<void> {
  if (principal.kind === 'anonymous') throw new Error('nobody changes a default without a name');
  const caller = { principal, origin };
  const before = await findOrganization(transaction, organization.id);
  if (!before || before.defaultStorageId === defaultStorageId) return;
  const change = { defaultStorageId };
  const changed = await changeOrganization(transaction, organization.id, context.clock.now(), change);
  await emit(context, transaction, caller, changed, 'organization.updated', {});
  await audit(context, transaction, caller, organization.id, {
    action: 'organization.updated',
    resource: { type: 'organization', id: organization.id },
    details: { changes: change },
  });
}
