import type { RestoresContext } from '../context.ts';
import { runDrillJob, runRestoreJob } from '../jobs.ts';

/** Hands out again what nobody works on. Jobs are exclusive by their key: what is queued or running is not queued twice. */
export async function watchRestores({ platform: { database, queue } }: RestoresContext): Promise<void> {
  await database.system(async (transaction) => {
    const active = 'join organizations o on o.id = x.organization_id and o.deleted_at is null';
    const restores = await transaction.client.query<{ id: string; organization_id: string }>(
      `select x.id, x.organization_id from restores x ${active} where x.status = 'running' limit 1000`,
    );
    for (const { id, organization_id: organizationId } of restores.rows)
      await queue.enqueue(transaction, runRestoreJob, { organizationId, restoreId: id }, { key: id });
    const drills = await transaction.client.query<{ id: string; organization_id: string }>(
      `select x.id, x.organization_id from drills x ${active} where x.status in ('pending', 'running') limit 1000`,
    );
    for (const { id, organization_id: organizationId } of drills.rows)
      await queue.enqueue(transaction, runDrillJob, { organizationId, drillId: id }, { key: id });
  });
}
