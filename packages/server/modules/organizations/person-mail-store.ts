import type { Transaction } from '../../platform/database/database.ts';
import { holdLock } from '../../platform/database/transaction-statements.ts';
import { dayMs, later } from '../../platform/durations.ts';

/**
 * Mails a day to addresses that somebody else may own, from all organizations together of the person who answers for them:
 * who may send a few from each could found as many as it takes.
 */
export const mailsOfPersonPerDay = { invitation: 100, notification: 500 };

export interface MailsOfPerson {
  userId: string;
  kind: keyof typeof mailsOfPersonPerDay;
  mails: number;
}

export const personMailStore = {
  /** When so many more may go; undefined if they may go now. Stays true until the transaction ends. */
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
