import { type DataOf, type ItemOf, type Operations, operations, planAtLeast, plans } from '@holdfast/contract';
import type { Config } from '../../config.ts';
import { keptDaysOf } from '../audit/index.ts';
import type { MemberRow } from './members/member-store.ts';
import type { OrganizationRow } from './organization-store.ts';
import type { Role } from './tables.ts';

/** Rows of organizations as the contract shows them. */

export function organizationEtag(row: OrganizationRow): string {
  return `"${row.id}-${row.version}"`;
}

export function presentCreated(row: OrganizationRow, ownerId: string): DataOf<Operations['createOrganization']> {
  return { id: row.id, name: row.name, slug: row.slug, ownerId, createdAt: row.createdAt.toISOString() };
}

export function presentSummary(
  row: OrganizationRow,
  role: Role,
  counts: { memberCount: number; projectCount: number },
): ItemOf<Operations['listOrganizations']> {
  return { id: row.id, name: row.name, slug: row.slug, role, ...counts, createdAt: row.createdAt.toISOString() };
}

export function presentOrganization(
  row: OrganizationRow,
  owner: MemberRow,
  { statistics, allows }: Pick<DataOf<Operations['getOrganization']>, 'statistics' | 'allows'>,
): DataOf<Operations['getOrganization']> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    owner: { id: owner.userId, email: owner.email, name: owner.name },
    settings: presentSettings(row),
    statistics,
    subscription: presentSubscription(row),
    recoveryKitTakenAt: row.recoveryKitTakenAt?.toISOString() ?? null,
    allows,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentUpdated(row: OrganizationRow): DataOf<Operations['updateOrganization']> {
  return { id: row.id, name: row.name, settings: presentSettings(row), updatedAt: row.updatedAt.toISOString() };
}

function presentSubscription(row: OrganizationRow): DataOf<Operations['getOrganization']>['subscription'] {
  return { plan: row.plan, status: 'active', billingCycle: row.billingCycle };
}

/** With what the plans of this installation decide. */
export function presentSubscriptionDetail(
  row: OrganizationRow,
  config: Pick<Config, 'AUDIT_RETENTION_DAYS' | 'PLAN_CHANGES'>,
): DataOf<Operations['getSubscription']> {
  return {
    ...presentSubscription(row),
    plans: plans.map((plan) => ({
      plan,
      auditLogDays: keptDaysOf(plan, config.AUDIT_RETENTION_DAYS),
      ownEncryptionKey: planAtLeast(plan, operations.setEncryptionKey.plan),
    })),
    changedBy: config.PLAN_CHANGES === 'operator' ? 'operator' : 'owner',
  };
}

function presentSettings(row: OrganizationRow): DataOf<Operations['getOrganization']>['settings'] {
  return { timezone: row.timezone, defaultStorageId: row.defaultStorageId, notifications: row.notifications };
}
