import type { OrganizationsContext } from '../context.ts';
import { withoutRecoveryKit } from '../organization-store.ts';

const namedMax = 20;

/**
 * Without the kit, losing the master key loses every backup. So every start logs it until the owner has a kit with the
 * current key.
 */
export async function remindOfKits({ database, log }: OrganizationsContext): Promise<void> {
  const organizations = await database.system((transaction) => withoutRecoveryKit(transaction, namedMax));
  if (organizations.length === 0) return;
  log.warn(
    { organizations: organizations.map(({ id }) => id) },
    'no recovery kit holds the key in use; the owner takes one with `holdfast recovery-kit`',
  );
}
