import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { JobDefinition } from '../../../platform/queue.ts';
import { importBackupJob, mergeBackupJob, planBackupJob } from '../jobs.ts';

const lock = 0x48f3;
/** One organization runs at most so many backups at once, however many it has queued. */
export const runningPerOrganizationMax = 4;
const runningMax = 256;

interface Waiting {
  id: string;
  organization_id: string;
  type: string;
  imported: unknown;
}

/**
 * Lets waiting backups in: one per project, few per organization, the organization with the fewest running first.
 * A tenant's thousand waiting backups thus never stand before another's single one.
 * Runs after anything that makes or frees a place, and again and again by the clock; doing so once too often is harmless.
 */
export async function admitBackups(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return platform.database.system(async (transaction) => {
    await transaction.client.query('select pg_advisory_xact_lock($1)', [lock]);
    let admitted = 0;
    for (;;) {
      const next = await nextWaiting(transaction);
      if (!next) return admitted;
      await transaction.client.query('update backups set admitted_at = $2 where id = $1', [
        next.id,
        platform.clock.now(),
      ]);
      const priority = await priorityOf(transaction, next.organization_id);
      const data = { organizationId: next.organization_id, backupId: next.id };
      await platform.queue.enqueue(transaction, firstJob(next), data, { key: next.id, priority });
      admitted++;
    }
  });
}

/** Where the work on a backup begins. */
export function firstJob(waiting: {
  type: string;
  imported: unknown;
}): JobDefinition<{ organizationId: string; backupId: string }> {
  if (waiting.imported !== null) return importBackupJob;
  return waiting.type === 'synthetic' ? mergeBackupJob : planBackupJob;
}

async function nextWaiting({ client }: Transaction): Promise<Waiting | undefined> {
  const { rows } = await client.query<Waiting>(
    `with busy as (
       select organization_id, project_id from backups where status in ('pending', 'running') and admitted_at is not null and deleted_at is null
     ), load as (select organization_id, count(*) as running from busy group by organization_id)
     select b.id, b.organization_id, b.type, b.imported
       from backups b
       join organizations o on o.id = b.organization_id and o.deleted_at is null
       left join load l on l.organization_id = b.organization_id
      where b.status = 'pending' and b.admitted_at is null and b.deleted_at is null
        and coalesce(l.running, 0) < $1
        and (select count(*) from busy) < $2
        and not exists (select 1 from busy x where x.organization_id = b.organization_id and x.project_id = b.project_id)
      order by coalesce(l.running, 0), b.id
      limit 1`,
    [runningPerOrganizationMax, runningMax],
  );
  return rows[0];
}

/** Jobs of an organization that has much under way come after those of one that has little. */
export async function priorityOf({ client }: Transaction, organizationId: string): Promise<number> {
  const { rows } = await client.query<{ open: string }>(
    `select count(*) as open from backup_ranges r join backups b on b.id = r.backup_id
      where r.organization_id = $1 and not r.is_complete and b.status = 'running'`,
    [organizationId],
  );
  return -Number(rows[0]?.open ?? 0);
}
