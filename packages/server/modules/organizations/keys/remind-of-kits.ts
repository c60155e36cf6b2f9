import type { OrganizationsContext } from '../context.ts';
import { withoutRecoveryKit } from '../organization-store.ts';

const namedMax = 20;

/** Without the kit, a lost master key is a loss of every backup; until the owner has it, every start says so. */
export async function remindOfKits({ database, log }: OrganizationsContext): Promise<void> {
  const organizations = await database.system((transaction) => withoutRecoveryKit(transaction, namedMax));
  if (organizations.length === 0) return;
  log.warn(
    { organizations: organizations.map(({ id }) => id) },
    'the recovery kit was never taken; the owner takes it with `holdfast recovery-kit`',
  );
}
