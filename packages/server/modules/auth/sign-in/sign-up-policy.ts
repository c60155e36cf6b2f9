import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { lockSignUps, usersExist } from '../user-store.ts';
import type { ProviderIdentity } from './provider-identity.ts';

export interface SignUpPolicy {
  readonly policy: 'invited' | 'open';
  /** In lower case. */
  readonly domains: readonly string[];
  /** From the organizations module, which comes later. */
  isInvited(transaction: Transaction, email: string): Promise<boolean>;
}

/** Throws unless a new person may sign up. An address that the provider has not verified does not count. */
export async function requireSignUp(
  transaction: Transaction,
  { policy, domains, isInvited }: SignUpPolicy,
  { email, emailVerified }: ProviderIdentity,
): Promise<void> {
  if (policy === 'open') return;
  await lockSignUps(transaction);
  if (!(await usersExist(transaction))) return;
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (emailVerified && (domains.includes(domain) || (await isInvited(transaction, email)))) return;
  throw new Problem('FORBIDDEN', 'Only invited people can sign up here. Ask somebody who is a member to invite you.', {
    details: { reason: 'sign_up_closed' },
  });
}
