import type { Transaction } from '../../platform/database/database.ts';

/**
 * Tables whose rows can be removed after they expire. Used tokens stay until then, so that a late replay is recognised.
 */
export const expiringTables = [
  'sign_in_flows',
  'one_time_codes',
  'refresh_tokens',
  'sessions',
  'idempotency_keys',
  'person_mails',
] as const;

/** Removes up to `limit` expired rows and returns how many. */
export async function removeExpired(
  { client }: Transaction,
  table: (typeof expiringTables)[number],
  now: Date,
  limit: number,
): Promise<number> {
  const { rowCount } = await client.query(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where expires_at < $1 limit $2))`,
    [now, limit],
  );
  return rowCount ?? 0;
}
