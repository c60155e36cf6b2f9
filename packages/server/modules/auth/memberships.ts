import type { Role } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';

/** An organization a person belongs to, as sign-in needs to know it. */
export interface Membership {
  id: string;
  name: string;
  role: Role;
}

/**
 * A person's organizations that are not deleted, ordered by id. The module that owns them provides this; the
 * transaction is the system's. With `hold` none of them can be purged before the transaction ends.
 */
export type MembershipsOf = (
  transaction: Transaction,
  userId: string,
  options: { hold: boolean },
) => Promise<Membership[]>;
