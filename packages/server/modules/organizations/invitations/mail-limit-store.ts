import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, eq, lte } from '../../../platform/database/orm.ts';
import { dayMs, hourMs, later, secondMs } from '../../../platform/durations.ts';
import { QuotaUsedUp } from '../../../platform/problem.ts';
import { type MailsOfPerson, mailsOfPersonPerDay, personMailStore } from '../person-mail-store.ts';
import { invitationMails } from '../tables.ts';

const mailsPerDayMax = 50;

interface SentMail {
  email: string;
  sentAt: Date;
}

/**
 * Counts one mail or refuses it: fifty a day for an organization, a hundred for a person, one an hour for an address.
 * The caller holds the organization's lock, so concurrent requests are counted one after the other.
 */
export async function countInvitationMail(
  transaction: Transaction,
  { organizationId, userId }: { organizationId: string; userId: string },
  address: string,
  now: Date,
): Promise<void> {
  const { orm } = transaction;
  const email = address.toLowerCase();
  const ours = eq(invitationMails.organizationId, organizationId);
  await orm.delete(invitationMails).where(and(ours, lte(invitationMails.sentAt, later(now, -dayMs))));
  const sent = await orm.select().from(invitationMails).where(ours).orderBy(asc(invitationMails.sentAt));
  const ofPerson: MailsOfPerson = { userId, kind: 'invitation', mails: 1 };
  const personFullUntil = await personMailStore.fullUntil(transaction, ofPerson, now);
  const refusals = [
    addressRefusal(sent, email, now),
    dayRefusal(sent, now),
    personFullUntil && personRefusal(personFullUntil, now),
  ].filter((refusal) => refusal !== undefined);
  // After the later of the two times the mail is not refused again.
  const [refusal] = refusals.toSorted((left, right) => right.quota.resetSeconds - left.quota.resetSeconds);
  if (refusal) throw refusal;
  await orm.insert(invitationMails).values({ organizationId, email, sentAt: now });
  await personMailStore.note(transaction, ofPerson, now);
}

function addressRefusal(sent: readonly SentMail[], email: string, now: Date): QuotaUsedUp | undefined {
  const last = sent.findLast((mail) => mail.email === email);
  const resetSeconds = last ? secondsUntil(later(last.sentAt, hourMs), now) : 0;
  if (resetSeconds <= 0) return undefined;
  const message = `${email} got a mail within the last hour. The next one can go in ${minutesOf(resetSeconds)}.`;
  const windowSeconds = hourMs / secondMs;
  return new QuotaUsedUp(message, { policy: 'invitations-to-address', limit: 1, windowSeconds, resetSeconds });
}

function dayRefusal(sent: readonly SentMail[], now: Date): QuotaUsedUp | undefined {
  const oldest = sent.at(-mailsPerDayMax);
  if (!oldest) return undefined;
  return refusalOfDay('An organization', later(oldest.sentAt, dayMs), now, 'invitations', mailsPerDayMax);
}

function personRefusal(until: Date, now: Date): QuotaUsedUp {
  return refusalOfDay('A person', until, now, 'invitations-by-person', mailsOfPersonPerDay.invitation);
}

function refusalOfDay(who: string, until: Date, now: Date, policy: string, limit: number): QuotaUsedUp {
  const resetSeconds = secondsUntil(until, now);
  const message = `${who} sends ${limit} invitations a day at most. The next one can go in ${minutesOf(resetSeconds)}.`;
  return new QuotaUsedUp(message, { policy, limit, windowSeconds: dayMs / secondMs, resetSeconds });
}

function secondsUntil(at: Date, now: Date): number {
  return Math.ceil((at.getTime() - now.getTime()) / secondMs);
}

function minutesOf(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}
