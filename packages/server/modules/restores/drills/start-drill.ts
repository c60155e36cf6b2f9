import { EngineError } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { secondMs } from '../../../platform/durations.ts';
import { findEarlierResult } from '../../../platform/earlier-result.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import { type BackupRow, backupStore } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { admitDrills } from './admission.ts';
import { type DrillRow, drillStore } from './drill-store.ts';
import { openDrillTarget, requireEmpty } from './drill-target.ts';

/** Starts a trial restore into a scratch database or a named project. */
export async function startDrill(
  context: RestoresContext,
  caller: Caller,
  backupId: string,
  targetProjectId: string | undefined,
): Promise<DrillRow> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'drl', drillStore.find);
  if (made) return made;
  if (targetProjectId !== undefined) await refuseFullTarget(context, organizationId, backupId, targetProjectId);
  const started = await database.tenant(organizationId, async (transaction) => {
    const backup = await requireAllowed(transaction, organizationId, backupId, targetProjectId);
    const row = await requestDrill(context, transaction, backup, targetProjectId ?? null, caller.origin.newId);
    await backupStore.hold(transaction, organizationId, [backupId]);
    await context.audit.noteCaller(transaction, caller, {
      action: 'drill.started',
      resource: { type: 'drill', id: row.id },
      details: { projectId: row.projectId, backupId, targetProjectId: row.targetProjectId },
    });
    return row;
  });
  await admitDrills(context.platform);
  return started;
}

async function requireAllowed(
  transaction: Transaction,
  organizationId: string,
  backupId: string,
  targetProjectId: string | undefined,
): Promise<BackupRow> {
  const backup = await backupStore.get(transaction, organizationId, backupId);
  if (backup.status !== 'completed')
    throw new Problem(
      'INVALID_STATE',
      `Only a completed backup can be drilled; the status of this one is ${backup.status}.`,
      {
        details: { status: backup.status },
      },
    );
  if (targetProjectId === undefined) return backup;
  const target = await projectStore.get(transaction, organizationId, targetProjectId);
  if (target.id === backup.projectId)
    throw new Problem(
      'INVALID_STATE',
      'A drill writes into its target; name another project than the one the backup is of.',
    );
  return backup;
}

/** Checked before the response, so that a wrong target is reported at once. The drill checks again before it writes. */
async function refuseFullTarget(
  context: RestoresContext,
  organizationId: string,
  backupId: string,
  targetProjectId: string,
): Promise<void> {
  await context.platform.database.tenant(organizationId, (transaction) =>
    requireAllowed(transaction, organizationId, backupId, targetProjectId),
  );
  try {
    const named = await openDrillTarget(context, { organizationId, targetProjectId });
    try {
      await requireEmpty(named, AbortSignal.timeout(lookMsMax));
    } finally {
      await named.firestore.close();
    }
  } catch (error) {
    // A database that does not answer now may answer when the drill runs; otherwise the drill's record will tell.
    if (!(error instanceof EngineError)) throw error;
  }
}

const lookMsMax = 8 * secondMs;

/** Requests a drill of a completed backup as part of the caller's transaction. */
export async function requestDrill(
  { platform: { clock, ids } }: Pick<RestoresContext, 'platform'>,
  transaction: Transaction,
  { id: backupId, organizationId, projectId }: Pick<BackupRow, 'id' | 'organizationId' | 'projectId'>,
  targetProjectId: string | null,
  newId?: string,
): Promise<DrillRow> {
  return drillStore.insert(transaction, {
    id: ids.next('drl', newId),
    organizationId,
    backupId,
    projectId,
    targetProjectId,
    status: 'pending',
    createdAt: clock.now(),
  });
}
