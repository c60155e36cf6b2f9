import type { Transaction } from '../../../platform/database/database.ts';
import { encodeJson } from '../../../platform/database/json.ts';
import { withdrawnKeysSql } from '../../organizations/index.ts';
import { taskStore } from '../../storage/index.ts';
import type { BackupRow } from '../backup-store.ts';
import { isUnreadSql } from '../contents/verification-store.ts';
import { missesCopies } from '../storage/missing-copies-sql.ts';
import { asOfSql, newestCandidates } from './as-of-sql.ts';
import { isNotForeign } from './foreign-sql.ts';

/**
 * Retention looks at this many completed backups of a project at a time, the newest first, because they depend on older
 * ones.
 */
const candidatesMax = 50_000;

/** `unread`: it failed, and only because nothing could be read. */
export type Verification = 'running' | 'passed' | 'failed' | 'unread' | null;

interface ScheduleTerm {
  organizationId: string;
  id: string;
  retentionDays: number | null;
}

/** What retention knows of a completed backup. */
export interface RetentionCandidate {
  id: string;
  type: BackupRow['type'];
  scheduleId: string | null;
  parentId: string | null;
  standsFor: string | null;
  /** A digest of what it covers, accounts included: a backup without accounts cannot replace one that has them. */
  scope: string;
  isSafety: boolean;
  /** Made of a foreign file: it tells nothing about how new the project's own backups are. */
  isForeign: boolean;
  countsFrom: Date;
  completedAt: Date;
  expiresAt: Date | null;
  legalHold: boolean;
  lockedUntil: Date | null;
  verification: Verification;
  isSealed: boolean;
  /** Something copies it, verifies it, or builds on it right now. */
  isBusy: boolean;
}

interface Row {
  id: string;
  type: BackupRow['type'];
  schedule_id: string | null;
  parent_id: string | null;
  stands_for: string | null;
  scope: string;
  trigger: string;
  is_foreign: boolean;
  counts_from: Date;
  completed_at: Date;
  expires_at: Date | null;
  legal_hold: boolean;
  locked_until: Date | null;
  verification: Verification;
  is_sealed: boolean;
  is_busy: boolean;
}

/** Names of collections may fill tens of kilobytes in each of tens of thousands of records: none of them travels. */
const scopeSql = `encode(sha256(convert_to(jsonb_build_array(b.collections, b.exclude_collections,
              b.include_subcollections, b.include_auth_users)::text, 'UTF8')), 'hex')`;

/** The SQL on backups that retention needs. */
export const retentionStore = {
  /**
   * Every completed backup of a project. With `lock` none of them can be deleted, held, or become a parent before the
   * transaction ends.
   */
  async candidates(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
    options: { lock: boolean },
  ): Promise<RetentionCandidate[]> {
    const busyDestinationIds = await taskStore.busyDestinations(transaction, organizationId);
    const { client } = transaction;
    const { rows } = await client.query<Row>(
      `select b.id, b.type, b.schedule_id, b.parent_id, b.stands_for, ${scopeSql} as scope, b.trigger,
              not (${isNotForeign}) as is_foreign, coalesce(b.retained_since, b.completed_at) as counts_from,
              b.completed_at, b.expires_at, b.legal_hold, b.locked_until,
              case when ${isUnreadSql} then 'unread' when ${missesCopies('b.id', 'b.stands_for')} then null
                   else b.verification->>'status' end as verification,
              coalesce(b.key_id in ${withdrawnKeysSql('$1')}, false) as is_sealed,
              (exists (select 1 from backups x where x.organization_id = $1 and x.parent_id = b.id
                          and x.status in ('pending', 'running') and x.deleted_at is null)
               or exists (select 1 from backups x where x.organization_id = $1 and x.project_id = $2
                          and x.status in ('pending', 'running') and x.deleted_at is null and x.stands_for = b.id)
               or exists (select 1 from backup_copies c
                           where c.backup_id = b.id and c.storage_destination_id = any($3))) as is_busy
         from backups b
        where b.organization_id = $1 and b.project_id = $2 and b.status = 'completed' and b.deleted_at is null
        order by b.id desc limit ${candidatesMax} ${options.lock ? 'for no key update of b' : ''}`,
      [organizationId, projectId, busyDestinationIds],
    );
    return rows.map(candidateOf);
  },

  /** Sets the expiry times of a schedule's backups to this many days after completion. */
  async setTerms(
    { client }: Transaction,
    organizationId: string,
    scheduleId: string,
    days: number | null,
  ): Promise<void> {
    await client.query(
      `update backups set expires_at = coalesce(retained_since, completed_at) + make_interval(hours => 24 * $3),
              version = version + 1
        where organization_id = $1 and schedule_id = $2 and status = 'completed' and deleted_at is null`,
      [organizationId, scheduleId, days],
    );
  },

  /** Unfinished backups keep the retention of their schedule, which is about to be removed. */
  async keepTerm({ client }: Transaction, schedule: ScheduleTerm): Promise<void> {
    const { organizationId, id, retentionDays } = schedule;
    if (retentionDays === null) return;
    await client.query(
      `update backups set retention_days = $3, version = version + 1
        where organization_id = $1 and schedule_id = $2 and status in ('pending', 'running') and retention_days is null`,
      [organizationId, id, retentionDays],
    );
  },

  /**
   * The completed backup before this one with the same scope, to be compared with: of the last few the one with the
   * newest data, because a merge may hold older data than its id says.
   */
  async previousOf({ client }: Transaction, row: BackupRow): Promise<Predecessor | undefined> {
    const { rows } = await client.query<{ id: string; document_count: string; collection_counts: object | null }>(
      `select id, document_count, collection_counts from (
         select id, document_count, collection_counts, ${asOfSql} as as_of from backups
          where organization_id = $1 and project_id = $2 and id <> $3 and status = 'completed' and deleted_at is null
            and trigger <> 'pre_restore' and imported is null and stands_for is null
            and document_count is not null and collections = $4 and exclude_collections = $5
            and include_subcollections = $6
          order by id desc limit ${newestCandidates}) known
        order by as_of desc, id desc limit 1`,
      [
        row.organizationId,
        row.projectId,
        row.id,
        encodeJson(row.collections),
        encodeJson(row.excludeCollections),
        row.includeSubcollections,
      ],
    );
    const [found] = rows;
    return (
      found && {
        id: found.id,
        documentCount: Number(found.document_count),
        collectionCounts: (found.collection_counts ?? {}) as Record<string, number>,
      }
    );
  },
};

export interface Predecessor {
  id: string;
  documentCount: number;
  collectionCounts: Record<string, number>;
}

function candidateOf(row: Row): RetentionCandidate {
  return {
    id: row.id,
    type: row.type,
    scheduleId: row.schedule_id,
    parentId: row.parent_id,
    standsFor: row.stands_for,
    scope: row.scope,
    isSafety: row.trigger === 'pre_restore',
    isForeign: row.is_foreign,
    countsFrom: row.counts_from,
    completedAt: row.completed_at,
    expiresAt: row.expires_at,
    legalHold: row.legal_hold,
    lockedUntil: row.locked_until,
    verification: row.verification,
    isSealed: row.is_sealed,
    isBusy: row.is_busy || row.verification === 'running',
  };
}
