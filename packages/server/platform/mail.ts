import { z } from 'zod';
import type { Clock } from './clock.ts';
import type { Database, Transaction } from './database/database.ts';
import { and, eq } from './database/orm.ts';
import { outgoingMails } from './database/tables.ts';
import { dayMs, minuteMs } from './durations.ts';
import type { Logger } from './log.ts';
import { defineJob, type JobHandler, type Queue } from './queue.ts';
import type { MasterKeyring } from './secrets/master-keyring.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The link in the mail: an installation without a mail server logs it instead. */
  link: string;
}

/** The queue waits up to five minutes between two tries, so this lasts a week without a mail server. */
const retryLimit = (7 * dayMs) / (5 * minuteMs);
const connectTimeoutMs = 15_000;
const silenceTimeoutMs = minuteMs;

export const sendMailJob = defineJob({
  name: 'send-mail',
  schema: z.strictObject({ organizationId: z.string(), mailId: z.string() }),
  retryLimit,
  retryDelaySeconds: 2,
  timeoutSeconds: 120,
});
type SendMail = z.infer<typeof sendMailJob.schema>;

export const mailPurpose = (mailId: string) => `outgoing_mails:${mailId}`;

/** Takes mails in the transaction of their change: a mail server that is down delays them and loses none. */
export class MailOutbox {
  readonly #queue: Queue;
  readonly #keyring: MasterKeyring;
  readonly #clock: Clock;

  constructor(platform: { queue: Queue; keyring: MasterKeyring; clock: Clock }) {
    this.#queue = platform.queue;
    this.#keyring = platform.keyring;
    this.#clock = platform.clock;
  }

  /** Replaces a waiting mail of the same id: only the newest is worth sending. */
  async post(transaction: Transaction, organizationId: string, mailId: string, mail: Mail): Promise<void> {
    const plain = { ...mail, subject: plainHeader(mail.subject) };
    const sealed = this.#keyring.seal(JSON.stringify(plain), mailPurpose(mailId));
    await transaction.orm
      .insert(outgoingMails)
      .values({ id: mailId, organizationId, sealed, createdAt: this.#clock.now() })
      .onConflictDoUpdate({ target: outgoingMails.id, set: { sealed } });
    await this.#queue.enqueue(transaction, sendMailJob, { organizationId, mailId });
  }

  /** A mail that is no longer needed is not sent if it still waits. */
  async withdraw({ orm }: Transaction, organizationId: string, mailId: string): Promise<void> {
    await orm.delete(outgoingMails).where(isMail(organizationId, mailId));
  }
}

/** A mail program would decode text that looks like an encoded word into something nobody here has seen. */
function plainHeader(text: string): string {
  return text.replaceAll('=?', '= ?');
}

export interface MailWorkerOptions {
  database: Database;
  keyring: MasterKeyring;
  log: Logger;
  smtpUrl: string | undefined;
  from: string;
  /** Nothing is sent for a deleted organization. */
  isActive: (organizationId: string) => Promise<boolean>;
}

/** Sends waiting mails, each at least once: a mail is removed only after the mail server has accepted it. */
export function createMailWorker(options: MailWorkerOptions): JobHandler<SendMail> {
  const { database, keyring, log } = options;
  const send = options.smtpUrl ? smtpSender(options.smtpUrl, options.from) : logSender(log);
  return async ({ data: { organizationId, mailId }, lastAttempt }) => {
    const sealed = await database.tenant(organizationId, ({ orm }) => findSealed(orm, organizationId, mailId));
    if (sealed === undefined) return;
    const mail = JSON.parse(keyring.openText(sealed, mailPurpose(mailId))) as Mail;
    const outcome = (await options.isActive(organizationId)) ? await send(mail) : 'sent';
    if (outcome === 'later' && !lastAttempt) throw new Error('the mail server did not take a mail; it is tried again');
    if (outcome !== 'sent') log.error({ organizationId, mailId }, 'a mail could not be delivered and was given up');
    // The row may hold a newer mail now, which has its own job.
    await database.tenant(organizationId, ({ orm }) =>
      orm.delete(outgoingMails).where(and(isMail(organizationId, mailId), eq(outgoingMails.sealed, sealed))),
    );
  };

  function smtpSender(url: string, from: string): Sender {
    const timeouts = {
      connectionTimeout: connectTimeoutMs,
      greetingTimeout: connectTimeoutMs,
      socketTimeout: silenceTimeoutMs,
    };
    const opened = import('nodemailer').then(({ createTransport }) => createTransport({ url, ...timeouts }));
    return async ({ to, subject, text, html }) => {
      try {
        const transport = await opened;
        await transport.sendMail({ from, to, subject, text, html, headers: { 'Auto-Submitted': 'auto-generated' } });
        return 'sent';
      } catch (error) {
        const { code, responseCode } = error as { code?: string; responseCode?: number };
        log.warn({ reason: code, responseCode }, 'the mail server did not take a mail');
        return code === 'EENVELOPE' && (responseCode ?? 0) >= 500 ? 'never' : 'later';
      }
    };
  }
}

/** `never`: the server refuses the recipient for good. */
type Sender = (mail: Mail) => Promise<'sent' | 'later' | 'never'>;

/** A fresh installation has no mail server; its operator reads the log. */
function logSender(log: Logger): Sender {
  return async ({ to, subject, link }) => {
    log.warn({ to, subject, link }, 'SMTP_URL is not set, so this mail was not sent; hand its link on yourself');
    return 'sent';
  };
}

function isMail(organizationId: string, mailId: string) {
  return and(eq(outgoingMails.organizationId, organizationId), eq(outgoingMails.id, mailId));
}

async function findSealed(orm: Transaction['orm'], organizationId: string, mailId: string) {
  const rows = await orm
    .select({ sealed: outgoingMails.sealed })
    .from(outgoingMails)
    .where(isMail(organizationId, mailId));
  return rows[0]?.sealed;
}
