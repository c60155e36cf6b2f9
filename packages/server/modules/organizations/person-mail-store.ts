import type { Transaction } from '../../platform/database/database.ts';
import { holdLock } from '../../platform/database/transaction-statements.ts';
import { dayMs, later } from '../../platform/durations.ts';

/**
 * Mails per day to addresses that may belong to others, from all organizations of the person who answers for them.
 * Without this limit a person could send any number by creating organizations.
 */
export const mailsOfPersonPerDay = { invitation: 100, notification: 500 };

export interface MailsOfPerson {
  userId: string;
  kind: keyof typeof mailsOfPersonPerDay;
  mails: number;
}

export const personMailStore = {
  /** When the next mails may go; undefined if they may go now. Stays valid until the transaction ends. */
  async fullUntil(
    transaction: Transaction,
    { userId, kind, mails }: MailsOfPerson,
    now: Date,
  ): Promise<Date | undefined> {
    await holdLock(transaction, 'mails of a person', userId);
    const { rows } = await transaction.client.query<{ expires_at: Date }>(
      `select expires_at from person_mails where user_id = $1 and kind = $2 and expires_at > $3
        order by expires_at desc offset $4 limit 1`,
      [userId, kind, now, mailsOfPersonPerDay[kind] - mails],
    );
    return rows[0]?.expires_at;
  },

  async note({ client }: Transaction, { userId, kind, mails }: MailsOfPerson, now: Date): Promise<void> {
    await client.query(
      'insert into person_mails (user_id, kind, expires_at) select $1, $2, $3 from generate_series(1, $4::int)',
      [userId, kind, later(now, dayMs), mails],
    );
  },
};
