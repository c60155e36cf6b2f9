import { pageOf } from '../../platform/cursor.ts';
import type { OrganizationsContext } from './context.ts';
import { countMembers, listOrganizationsOf, listRecoverableOf } from './organization-store.ts';
import { presentSummary } from './present-organization.ts';

/** The caller's own organizations. Runs across tenants, because the caller is in no organization while asking. */
export async function listOrganizations(
  context: OrganizationsContext,
  userId: string,
  query: { limit: number; cursor?: string | undefined },
) {
  const before = context.cursors.read('organizations', userId, query.cursor);
  return context.database.system(async (transaction) => {
    const found = await listOrganizationsOf(transaction, userId, before, query.limit + 1);
    const page = pageOf(found, query.limit, ({ organization }) =>
      context.cursors.write('organizations', userId, organization.id),
    );
    const ids = page.rows.map(({ organization }) => organization.id);
    const members = await countMembers(transaction, ids);
    const projects = await context.later.countProjects(transaction, ids);
    const data = page.rows.map(({ organization, role }) =>
      presentSummary(organization, role, {
        memberCount: members.get(organization.id) ?? 0,
        projectCount: projects.get(organization.id) ?? 0,
      }),
    );
    return { data, nextCursor: page.nextCursor };
  });
}

/** Organizations that the caller deleted and can still recover. */
export async function listDeletedOrganizations(
  context: OrganizationsContext,
  userId: string,
  query: { limit: number; cursor?: string | undefined },
) {
  const before = context.cursors.read('deleted organizations', userId, query.cursor);
  const found = await context.database.system((transaction) =>
    listRecoverableOf(transaction, userId, context.clock.now(), before, query.limit + 1),
  );
  const page = pageOf(found, query.limit, ({ id }) => context.cursors.write('deleted organizations', userId, id));
  const data = page.rows.map(({ id, name, slug, deletedAt, recoveryDeadline }) => ({
    id,
    name,
    slug,
    deletedAt: deletedAt!.toISOString(),
    recoveryDeadline: recoveryDeadline!.toISOString(),
  }));
  return { data, nextCursor: page.nextCursor };
}
