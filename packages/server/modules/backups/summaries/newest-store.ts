import type { Transaction } from '../../../platform/database/database.ts';
import { firstIdAt } from '../../../platform/ids.ts';
import type { BackupRow } from '../backup-store.ts';
import { isDamagedSql } from '../contents/verification-store.ts';
import type { StoredAnomaly } from '../tables.ts';
import { asOfSql, newestCandidates } from './as-of-sql.ts';
import { isNotForeign } from './foreign-sql.ts';

/** What the newest backups of a project say about it. */
export interface NewestBackups {
  projectId: string;
  /** The backup with the newest data that was not found damaged. Safety backups do not count. */
  newest:
    | (Pick<BackupRow, 'id' | 'type'> & {
        /** For a merge: the time of its data, because it reads nothing from the database. */
        startedAt: Date;
        asOf: Date;
        completedAt: Date;
        documentCount: number;
        verifiedAt: Date | null;
      })
    | null;
  /** How many in a row failed after it, what retention merges apart. */
  failuresInRow: number;
  /** Some backups have a withdrawn key. */
  isSealed: boolean;
  /** A newer backup was found damaged. */
  isDamaged: boolean;
}

interface Row {
  projectId: string;
  id: string | null;
  type: BackupRow['type'];
  startedAt: Date;
  asOf: Date;
  completedAt: Date;
  documentCount: string;
  verifiedAt: Date | null;
  failures: number;
  isSealed: boolean;
  isDamaged: boolean;
}

/** More failures in a row than this are not counted. */
const failuresMax = 10;
const isOfProject = `organization_id = $1 and project_id = p.id and deleted_at is null and trigger <> 'pre_restore' and ${isNotForeign}`;

/** Read by index, a few rows for each project, however many backups there are. */
export async function newestBackups(
  { client }: Transaction,
  organizationId: string,
  projectIds: readonly string[],
  withdrawnKeys: readonly string[],
): Promise<Map<string, NewestBackups>> {
  const { rows } = await client.query<Row>(
    `select p.id as "projectId", good.*,
            (select count(*)::int from (
               select 1 from backups where ${isOfProject} and status = 'failed' and stands_for is null and id > coalesce(good.id, '')
                order by id desc limit ${failuresMax}) failed) as failures,
            cardinality($3::text[]) > 0 and exists (select 1 from backups where ${isOfProject} and status = 'completed' and key_id = any($3)) as "isSealed",
            exists (select 1 from backups b where ${isOfProject} and status = 'completed' and ${isDamagedSql} and b.id > coalesce(good.id, '')) as "isDamaged"
       from unnest($2::text[]) as p(id) left join lateral (
         select * from (
           select id, type, ${asOfSql} as "asOf", completed_at as "completedAt",
                  case when type = 'synthetic' then ${asOfSql} else coalesce(started_at, created_at) end as "startedAt",
                  document_count as "documentCount", verified_at as "verifiedAt"
             from backups b where ${isOfProject} and status = 'completed' and coalesce(key_id, '') <> all($3) and not ${isDamagedSql}
            order by id desc limit ${newestCandidates}) known
          order by "asOf" desc, id desc limit 1) good on true`,
    [organizationId, [...projectIds], [...withdrawnKeys]],
  );
  return new Map(
    rows.map(({ projectId, id, failures, isSealed, isDamaged, ...newest }) => [
      projectId,
      {
        projectId,
        newest: id === null ? null : { ...newest, id, documentCount: Number(newest.documentCount ?? 0) },
        failuresInRow: failures,
        isSealed,
        isDamaged,
      },
    ]),
  );
}

export interface SuspiciousBackup {
  id: string;
  projectId: string;
  anomaly: StoredAnomaly;
  completedAt: Date;
}

/** Backups that were found suspicious, the newest first; a few for each project. */
export async function suspiciousBackups(
  { client }: Transaction,
  organizationId: string,
  projectIds: readonly string[],
): Promise<SuspiciousBackup[]> {
  if (projectIds.length === 0) return [];
  const { rows } = await client.query<SuspiciousBackup>(
    `select b.* from unnest($2::text[]) as p(id) cross join lateral (
       select id, project_id as "projectId", anomaly, completed_at as "completedAt" from backups
        where ${isOfProject} and status = 'completed' and anomaly is not null order by id desc limit 20) b`,
    [organizationId, [...projectIds]],
  );
  return rows;
}

/** Which projects were read most since then, the greatest reader first. */
export async function readsByProject(
  { client }: Transaction,
  organizationId: string,
  from: Date,
): Promise<{ projectId: string; readsUsed: number }[]> {
  const { rows } = await client.query<{ projectId: string; readsUsed: number }>(
    `select project_id as "projectId", sum(reads_used)::float8 as "readsUsed" from backups
      where organization_id = $1 and id >= $3 and created_at >= $2 and reads_used > 0
      group by 1 order by 2 desc, 1 limit 10`,
    [organizationId, from, firstIdAt('bkp', from)],
  );
  return rows;
}

/** How many documents the backups begun in this time read from their sources. */
export async function readsBetween(
  { client }: Transaction,
  organizationId: string,
  from: Date,
  to: Date,
): Promise<number> {
  const { rows } = await client.query<{ reads: number }>(
    `select coalesce(sum(reads_used), 0)::float8 as reads from backups
      where organization_id = $1 and id >= $4 and created_at >= $2 and created_at < $3`,
    [organizationId, from, to, firstIdAt('bkp', from)],
  );
  return rows[0]!.reads;
}
