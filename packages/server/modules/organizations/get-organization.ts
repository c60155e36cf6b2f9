import { asksGoogle, type Config } from '../../config.ts';
import { readOneSnapshot } from '../../platform/database/transaction-statements.ts';
import { organizationNotFound } from './authorize-change.ts';
import type { OrganizationsContext } from './context.ts';
import { findOwner } from './members/member-store.ts';
import { countMembers, findOrganization } from './organization-store.ts';
import { organizationEtag, presentOrganization } from './present-organization.ts';

/** The organization with its owner and with statistics counted in the same snapshot. */
export async function getOrganization(context: OrganizationsContext, organizationId: string) {
  return context.database.tenant(organizationId, async (transaction) => {
    await readOneSnapshot(transaction);
    const row = await findOrganization(transaction, organizationId);
    if (!row) throw organizationNotFound();
    const owner = await findOwner(transaction, organizationId);
    const members = await countMembers(transaction, [organizationId]);
    const projects = await context.later.countProjects(transaction, [organizationId]);
    const backups = await context.later.measureBackups(transaction, organizationId);
    const statistics = {
      memberCount: members.get(organizationId) ?? 0,
      projectCount: projects.get(organizationId) ?? 0,
      ...backups,
    };
    const data = presentOrganization(row, owner, { statistics, allows: allowsOf(context.config) });
    return { data, etag: organizationEtag(row) };
  });
}

function allowsOf(config: Config) {
  return {
    emulators: config.ALLOW_EMULATOR_SOURCES,
    folders: config.ALLOW_LOCAL_STORAGE,
    sample: config.offersSample && config.ALLOW_LOCAL_STORAGE,
    googleConsent: asksGoogle(config),
  };
}
