import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later, minuteMs, secondMs } from '../../platform/durations.ts';
import { MailOutbox } from '../../platform/mail.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Module } from '../module.ts';
import { type MailsOfPerson, personMailStore, type Recipients, recipientsOf } from '../organizations/index.ts';
import { troubleMail } from './trouble-mail.ts';
import { type Trouble, troubleStore } from './trouble-store.ts';
import { Troubles } from './troubles.ts';

export { massDeletionOf, missingBaseOf, Troubles } from './troubles.ts';

/** Troubles that begin within this time after the first go into the same mail. */
const gatherMs = 20 * secondMs;
/** After a mail the next one of an organization waits this long and collects. */
const pauseMs = 5 * minuteMs;
/** For addresses that belong to no member: nobody has proven that they want our mails. */
const outsideMailsPerDay = 100;
const organizationsPerRun = 100;
const troublesPerMail = 500;
const keptDays = 90;

/** Mails people about troubles: once when one begins, once when it is over. */
export function createNotificationsModule(platform: Platform): Module & { troubles: Troubles } {
  const troubles = new Troubles(platform);
  platform.outbox.listen((transaction, events) => troubles.onEvents(transaction, events));
  return {
    troubles,
    handlers: {},
    tasks: [
      { name: 'notifications', everyMs: 5 * secondMs, run: (signal) => mailTroubles(platform, signal) },
      { name: 'old troubles', everyMs: hourMs, removesByAge: true, run: () => forgetOld(platform) },
    ],
  };
}

async function mailTroubles(platform: Platform, signal: AbortSignal): Promise<void> {
  const { database, clock, log } = platform;
  const now = clock.now();
  const due = { before: later(now, -gatherMs), pausedSince: later(now, -pauseMs), limit: organizationsPerRun };
  const organizationIds = await database.system((transaction) => troubleStore.organizationsToMail(transaction, due));
  const failures: unknown[] = [];
  for (const organizationId of organizationIds) {
    if (signal.aborted) break;
    await mailOrganization(platform, organizationId).catch((error: unknown) => {
      failures.push(error);
      log.warn({ err: error, organizationId }, 'an organization could not be told of its troubles; tried again later');
    });
  }
  // The run counts as failed, so that the health report shows it.
  if (failures.length > 0) throw failures[0];
}

/** Puts the mail into the outbox in the transaction that marks its news as sent; the mail server is contacted later. */
async function mailOrganization(platform: Platform, organizationId: string): Promise<void> {
  const { database, clock, ids, baseUrl } = platform;
  const mails = new MailOutbox(platform);
  await database.tenant(organizationId, async (transaction) => {
    const now = clock.now();
    const lastMailedAt = await troubleStore.lastMailedAt(transaction, organizationId);
    const isPause = lastMailedAt !== null && later(lastMailedAt, pauseMs) > now;
    if (isPause && !(await troubleStore.hasUrgent(transaction, organizationId))) return;
    const found = await troubleStore.lockUnmailed(transaction, organizationId, troublesPerMail);
    const begun = await troubleStore.wasBeginMailed(
      transaction,
      found.map(({ id }) => id),
    );
    const news = {
      begun: found.filter(({ endedAt }) => endedAt === null),
      ended: found.filter(({ id, endedAt }) => endedAt !== null && begun.has(id)),
    };
    const recipients = await recipientsOf(transaction, organizationId);
    const wanted = (list: readonly Trouble[]) => list.filter(({ kind }) => recipients?.events.includes(kind));
    const chosen = { begun: wanted(news.begun), ended: wanted(news.ended) };
    const [noted] = [...chosen.begun, ...chosen.ended];
    if (recipients && noted) {
      // The link opens this organization, because a person may belong to several.
      const home = `${baseUrl()}/o/${recipients.slug}`;
      for (const email of await listenersOf(transaction, organizationId, recipients, { noted, now })) {
        const mail = troubleMail(email, recipients.organizationName, chosen, home);
        await mails.post(transaction, organizationId, ids.next('evt'), mail);
      }
    }
    const marked = found.map(({ id }) => id);
    if (news.begun.length + news.ended.length > 0) await troubleStore.markMailed(transaction, marked, now);
    else await troubleStore.forget(transaction, marked);
  });
}

/** When outside addresses have had their mails of the day, owners and admins get them instead. */
async function listenersOf(
  transaction: Transaction,
  organizationId: string,
  { emails, outside, admins, ownerId }: Recipients,
  { noted, now }: { noted: Trouble; now: Date },
): Promise<string[]> {
  if (outside.length === 0) return emails;
  const sent = await troubleStore.mailsOutside(transaction, organizationId, later(now, -dayMs));
  const ofOwner: MailsOfPerson = { userId: ownerId, kind: 'notification', mails: outside.length };
  if (sent + outside.length > outsideMailsPerDay || (await personMailStore.fullUntil(transaction, ofOwner, now)))
    return [...new Set([...emails.filter((email) => !outside.includes(email)), ...admins])];
  await personMailStore.note(transaction, ofOwner, now);
  await troubleStore.noteMailsOutside(transaction, noted.id, outside.length);
  return emails;
}

async function forgetOld({ database, clock }: Platform): Promise<void> {
  const before = later(clock.now(), -keptDays * dayMs);
  await database.system((transaction) => troubleStore.removeEndedBefore(transaction, before, 5000));
}
