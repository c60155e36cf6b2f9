import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, gt, lte } from '../../../platform/database/orm.ts';
import { dayMs, hourMs, later } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { invitationMails } from '../tables.ts';

const mailsPerDayMax = 50;

/**
 * Counts one mail, or refuses it: fifty a day for an organization, one an hour for an address. The caller holds the
 * organization's lock, so that two who ask at once are counted one after the other.
 */
export async function countInvitationMail(
  { orm }: Transaction,
  organizationId: string,
  address: string,
  now: Date,
): Promise<void> {
  const email = address.toLowerCase();
  const ours = eq(invitationMails.organizationId, organizationId);
  await orm.delete(invitationMails).where(and(ours, lte(invitationMails.sentAt, later(now, -dayMs))));
  const anHourAgo = later(now, -hourMs);
  const toAddress = and(ours, eq(invitationMails.email, email), gt(invitationMails.sentAt, anHourAgo));
  if ((await orm.$count(invitationMails, toAddress)) > 0)
    throw new Problem('RATE_LIMITED', `${address} got a mail within the last hour. Wait a little before the next one.`);
  if ((await orm.$count(invitationMails, ours)) >= mailsPerDayMax)
    throw new Problem('RATE_LIMITED', `An organization sends ${mailsPerDayMax} invitations a day at most.`);
  await orm.insert(invitationMails).values({ organizationId, email, sentAt: now });
}
