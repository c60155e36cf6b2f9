import { violatedConstraint } from '../../../platform/database/database.ts';
import type { Person, RequestOrigin } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { OrganizationsContext } from '../context.ts';
import { audit, emit, memberInEvent } from '../events-and-audit.ts';
import { createServiceKey } from '../keys/organization-keys.ts';
import { countOwned, insertMember } from '../members/member-store.ts';
import { findOrganization, insertOrganization, type OrganizationRow } from '../organization-store.ts';
import { slugOf, withSuffix } from './slug.ts';

const slugAttemptsMax = 12;

export interface Founder {
  readonly principal: Person;
  readonly origin: RequestOrigin;
}

/**
 * Creates an organization with its owner and its key. A slug made from the name is changed when it is taken; a given
 * slug is refused then.
 */
export async function createOrganization(
  context: OrganizationsContext,
  founder: Founder,
  wanted: { name: string; slug?: string | undefined },
): Promise<OrganizationRow> {
  const made = await findCreatedEarlier(context, founder);
  if (made) return made;
  const slug = wanted.slug ?? slugOf(wanted.name, 'organization');
  for (let attempt = 0; ; attempt++) {
    try {
      return await found(context, founder, wanted.name, attempt === 0 ? slug : withSuffix(slug, attempt));
    } catch (error) {
      if (violatedConstraint(error) !== 'organizations_slug') throw error;
      if (wanted.slug !== undefined) throw new Problem('SLUG_TAKEN', `The slug ${wanted.slug} is taken.`);
      if (attempt >= slugAttemptsMax) throw error;
    }
  }
}

/** The organization that an earlier try of the same call created. */
async function findCreatedEarlier({ database, ids }: OrganizationsContext, { origin }: Founder) {
  if (origin.newId === undefined) return undefined;
  const id = ids.next('org', origin.newId);
  return database.system((transaction) => findOrganization(transaction, id));
}

async function found(
  context: OrganizationsContext,
  founder: Founder,
  name: string,
  slug: string,
): Promise<OrganizationRow> {
  const { clock, config, database, ids } = context;
  const { principal } = founder;
  const now = clock.now();
  const row: OrganizationRow = {
    id: ids.next('org', founder.origin.newId),
    name,
    slug,
    plan: config.DEFAULT_PLAN,
    billingCycle: 'monthly',
    timezone: 'UTC',
    defaultStorageId: null,
    notifications: null,
    deletedAt: null,
    recoveryDeadline: null,
    recoveryKitTakenAt: null,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  // Across organizations, because the founder's other organizations count.
  await database.system(async (transaction) => {
    const owned = await countOwned(transaction, principal.userId);
    const limit = config.ORGANIZATIONS_PER_USER_MAX;
    if (owned >= limit)
      throw new Problem('LIMIT_REACHED', `You own ${owned} organizations; more are not allowed here.`, {
        details: { limit },
      });
    await insertOrganization(transaction, row);
    await insertMember(transaction, { organizationId: row.id, userId: principal.userId, role: 'owner' }, now);
    await createServiceKey(context, transaction, row.id, 1);
    await emit(context, transaction, founder, row, 'organization.created', {});
    await emit(context, transaction, founder, row, 'member.joined', {
      member: memberInEvent({ ...principal, role: 'owner' }),
    });
    const resource = { type: 'organization', id: row.id };
    await audit(context, transaction, founder, row.id, {
      action: 'organization.created',
      resource,
      details: { name, slug },
    });
  });
  return row;
}
