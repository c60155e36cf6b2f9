import type { Transaction } from '../../../platform/database/database.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import { type BackupRow, backupStore } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { admitDrills } from './admission.ts';
import { type DrillRow, drillStore } from './drill-store.ts';

/** Starts a trial restore into a scratch database, or into a project that is named for it. */
export async function startDrill(
  context: RestoresContext,
  caller: Caller,
  backupId: string,
  targetProjectId: string | undefined,
): Promise<DrillRow> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  const started = await database.tenant(organizationId, async (transaction) => {
    const backup = await backupStore.get(transaction, organizationId, backupId);
    if (backup.status !== 'completed')
      throw new Problem('INVALID_STATE', `Only a completed backup can be drilled; this one is ${backup.status}.`, {
        details: { status: backup.status },
      });
    const target =
      targetProjectId === undefined ? undefined : await projectStore.get(transaction, organizationId, targetProjectId);
    if (target?.id === backup.projectId)
      throw new Problem(
        'INVALID_STATE',
        'A drill overwrites its target; name another project than the one the backup is of.',
      );
    const row = await requestDrill(context, transaction, backup, target?.id ?? null);
    await context.audit.noteCaller(transaction, caller, {
      action: 'drill.started',
      resource: { type: 'restore', id: row.id },
      details: { backupId, targetProjectId: row.targetProjectId },
    });
    return row;
  });
  await admitDrills(context.platform);
  return started;
}

/** Has a completed backup restored on trial when its turn comes, in the transaction that wants it. */
export async function requestDrill(
  { platform: { clock, ids } }: Pick<RestoresContext, 'platform'>,
  transaction: Transaction,
  { id: backupId, organizationId, projectId }: Pick<BackupRow, 'id' | 'organizationId' | 'projectId'>,
  targetProjectId: string | null,
): Promise<DrillRow> {
  return drillStore.insert(transaction, {
    id: ids.next('drl'),
    organizationId,
    backupId,
    projectId,
    targetProjectId,
    status: 'pending',
    createdAt: clock.now(),
  });
}
