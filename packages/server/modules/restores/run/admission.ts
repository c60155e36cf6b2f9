import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { runRestoreJob } from '../jobs.ts';

const lock = 0x48f4;
const runningPerOrganizationMax = 4;

/** Lets waiting restores in: one per target project, few per organization, the organization with the fewest running first. */
export async function admitRestores(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<void> {
  await platform.database.system(async (transaction) => {
    await transaction.client.query('select pg_advisory_xact_lock($1)', [lock]);
    for (let next = await nextWaiting(transaction); next; next = await nextWaiting(transaction)) {
      await transaction.client.query('update restores set admitted_at = $2 where id = $1', [
        next.id,
        platform.clock.now(),
      ]);
      await platform.queue.enqueue(
        transaction,
        runRestoreJob,
        { organizationId: next.organization_id, restoreId: next.id },
        { key: next.id },
      );
    }
  });
}

async function nextWaiting({ client }: Transaction): Promise<{ id: string; organization_id: string } | undefined> {
  const { rows } = await client.query<{ id: string; organization_id: string }>(
    `with busy as (
       select organization_id, target_project_id from restores where status in ('pending', 'running') and admitted_at is not null
     ), load as (select organization_id, count(*) as running from busy group by organization_id)
     select r.id, r.organization_id
       from restores r
       join organizations o on o.id = r.organization_id and o.deleted_at is null
       left join load l on l.organization_id = r.organization_id
      where r.status = 'pending' and r.admitted_at is null and coalesce(l.running, 0) < $1
        and not exists (select 1 from busy x where x.organization_id = r.organization_id and x.target_project_id = r.target_project_id)
      order by coalesce(l.running, 0), r.id
      limit 1`,
    [runningPerOrganizationMax],
  );
  return rows[0];
}
