import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import type { TroubleKind, TroubleWords } from './tables.ts';

export interface Trouble {
  id: string;
  kind: TroubleKind;
  words: TroubleWords;
  beganAt: Date;
  endedAt: Date | null;
}

interface Row {
  id: string;
  kind: TroubleKind;
  words: TroubleWords;
  began_at: Date;
  ended_at: Date | null;
}

/** All SQL on troubles. */
export const troubleStore = {
  /** A trouble that is already open stays unchanged, so it is mailed once. */
  async begin(
    { client }: Transaction,
    organizationId: string,
    trouble: { id: string; kind: TroubleKind; subjectId: string; words: TroubleWords; beganAt: Date },
  ): Promise<void> {
    await client.query(
      `insert into troubles (id, organization_id, kind, subject_id, words, began_at)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (organization_id, kind, subject_id) where ended_at is null do nothing`,
      [trouble.id, organizationId, trouble.kind, trouble.subjectId, encodeJson(trouble.words), trouble.beganAt],
    );
  },

  async end(
    { client }: Transaction,
    organizationId: string,
    kinds: readonly TroubleKind[],
    subjectId: string,
    now: Date,
  ): Promise<void> {
    await client.query(
      `update troubles set ended_at = $4
        where organization_id = $1 and kind = any($2) and subject_id = $3 and ended_at is null`,
      [organizationId, [...kinds], subjectId, now],
    );
  },

  /**
   * Organizations with an unmailed trouble that has been collected long enough, the longest waiting first. An
   * organization with a mail after `pausedSince` waits unless something is urgent; so does a deleted one, until it is
   * recovered. Neither delays others.
   */
  async organizationsToMail(
    { client }: Transaction,
    { before, pausedSince, limit }: { before: Date; pausedSince: Date; limit: number },
  ): Promise<string[]> {
    const { rows } = await client.query<{ organization_id: string }>(
      `select organization_id from troubles
        where (begin_told_at is null or (ended_at is not null and end_told_at is null))
          and greatest(began_at, coalesce(ended_at, began_at)) <= $1
          and ${isActiveOrganizationSql('organization_id')}
        group by organization_id
       having bool_or(begin_told_at is null and ended_at is null and words->>'isUrgent' = 'true')
           or not exists (select from troubles told where told.organization_id = troubles.organization_id
                and (told.begin_told_at > $2 or told.end_told_at > $2))
        order by min(greatest(began_at, coalesce(ended_at, began_at)))
        limit $3`,
      [before, pausedSince, limit],
    );
    return rows.map((row) => row.organization_id);
  },

  /** When the last mail of this kind went out. */
  async lastMailedAt({ client }: Transaction, organizationId: string): Promise<Date | null> {
    const { rows } = await client.query<{ told: Date | null }>(
      `select greatest(max(begin_told_at), max(end_told_at)) as told from troubles where organization_id = $1`,
      [organizationId],
    );
    return rows[0]?.told ?? null;
  },

  /** Whether an urgent trouble waits to be mailed. */
  async hasUrgent({ client }: Transaction, organizationId: string): Promise<boolean> {
    const { rowCount } = await client.query(
      `select 1 from troubles
        where organization_id = $1 and begin_told_at is null and ended_at is null and words->>'isUrgent' = 'true' limit 1`,
      [organizationId],
    );
    return rowCount !== 0;
  },

  async lockUnmailed({ client }: Transaction, organizationId: string, limit: number): Promise<Trouble[]> {
    const { rows } = await client.query<Row>(
      `select id, kind, words, began_at, ended_at from troubles
        where organization_id = $1 and (begin_told_at is null or (ended_at is not null and end_told_at is null))
        order by began_at limit $2 for update skip locked`,
      [organizationId, limit],
    );
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      words: row.words,
      beganAt: row.began_at,
      endedAt: row.ended_at,
    }));
  },

  /** Finds those whose beginning was mailed. The others need no mail when they are over. */
  async wasBeginMailed({ client }: Transaction, ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await client.query<{ id: string }>(
      'select id from troubles where id = any($1) and begin_told_at is not null',
      [[...ids]],
    );
    return new Set(rows.map(({ id }) => id));
  },

  async markMailed({ client }: Transaction, ids: readonly string[], now: Date): Promise<void> {
    await client.query(
      `update troubles set begin_told_at = coalesce(begin_told_at, $2),
              end_told_at = case when ended_at is null then null else $2 end
        where id = any($1)`,
      [[...ids], now],
    );
  },

  /** How many mails to outside addresses have been sent about troubles since then, or a few more. */
  async mailsOutside({ client }: Transaction, organizationId: string, since: Date): Promise<number> {
    const { rows } = await client.query<{ mails: string }>(
      `select coalesce(sum((words->>'mailsOutside')::int), 0) as mails from troubles
        where organization_id = $1 and greatest(begin_told_at, end_told_at) > $2`,
      [organizationId, since],
    );
    return Number(rows[0]?.mails);
  },

  async noteMailsOutside({ client }: Transaction, id: string, mails: number): Promise<void> {
    await client.query(
      `update troubles set words = jsonb_set(words, '{mailsOutside}', to_jsonb(coalesce((words->>'mailsOutside')::int, 0) + $2::int))
        where id = $1`,
      [id, mails],
    );
  },

  /** Over before anybody was mailed, so there is nothing to say. */
  async forget({ client }: Transaction, ids: readonly string[]): Promise<void> {
    await client.query('delete from troubles where id = any($1) and ended_at is not null and begin_told_at is null', [
      [...ids],
    ]);
  },

  async removeEndedBefore({ client }: Transaction, before: Date, limit: number): Promise<number> {
    const { rowCount } = await client.query(
      `delete from troubles where ctid = any(array(select ctid from troubles where ended_at < $1 limit $2))`,
      [before, limit],
    );
    return rowCount ?? 0;
  },
};
