import type { Transaction } from '../../../platform/database/database.ts';
import { asOfSql, newestCandidates } from './as-of-sql.ts';
import { isNotForeign } from './foreign-sql.ts';

/** What the metrics show about the newest good backup of a schedule, or of those made by hand. */
export interface MeasuredBackup {
  /** The schedule's id, or the project's for those made by hand. */
  key: string;
  completedAt: Date | null;
  /**
   * The time of the newest data, which may be in another backup than the one completed last: a merge holds older data.
   */
  asOf: Date | null;
  durationSeconds: number | null;
  storedBytes: number | null;
  failuresInRow: number;
}

interface Owner {
  readonly organizationId: string;
  readonly id: string;
}

/** More failures in a row than this are not counted. */
const failuresMax = 100;

/** Read by index, a few rows for each schedule. Both need a system transaction. */
export const measuresStore = {
  ofSchedules: (transaction: Transaction, schedules: readonly Owner[]): Promise<MeasuredBackup[]> =>
    newestOf(transaction, schedules, 'schedule_id = k.id'),

  /** Neither of a schedule nor a safety copy before a restore. */
  madeByHand: (transaction: Transaction, projects: readonly Owner[]): Promise<MeasuredBackup[]> =>
    newestOf(transaction, projects, `project_id = k.id and schedule_id is null and trigger in ('manual', 'api')`),
};

async function newestOf(
  { client }: Transaction,
  owners: readonly Owner[],
  isOfOwner: string,
): Promise<MeasuredBackup[]> {
  const of = `organization_id = k.organization and ${isOfOwner} and deleted_at is null and ${isNotForeign}`;
  const { rows } = await client.query<MeasuredBackup>(
    `select k.id as key, good.at as "completedAt", good.seconds as "durationSeconds", good.bytes as "storedBytes",
            good.as_of as "asOf",
            (select count(*)::int from (
               select 1 from backups where ${of} and status = 'failed' and stands_for is null and id > coalesce(good.id, '')
                order by id desc limit ${failuresMax}) failed) as "failuresInRow"
       from unnest($1::text[], $2::text[]) as k (organization, id) left join lateral (
         select * from (
           select id, completed_at as at, compressed_size::float8 as bytes, ${asOfSql} as as_of,
                  extract(epoch from completed_at - coalesce(started_at, created_at))::float8 as seconds
             from backups where ${of} and status = 'completed' order by id desc limit ${newestCandidates}) known
          order by as_of desc, id desc limit 1) good on true`,
    [owners.map(({ organizationId }) => organizationId), owners.map(({ id }) => id)],
  );
  return rows;
}
