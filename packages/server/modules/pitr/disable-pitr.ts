import type { Transaction } from '../../platform/database/database.ts';
import { dayMs } from '../../platform/durations.ts';
import type { Caller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { requireMayDeleteBackups } from '../../platform/rights.ts';
import { baseStore } from '../backups/index.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import type { PitrContext } from './context.ts';
import { coverageOfLog } from './coverage.ts';
import { removeLogJob } from './jobs.ts';
import { type PitrInEvent, pitrSwitched } from './pitr-events.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';
import { noPitr, presentSummary } from './present-pitr.ts';

/** Switches capture off within seconds. What was captured stays for its days, unless it is deleted with `deleteLog`. */
export async function disablePitr(
  context: PitrContext,
  caller: Caller,
  projectId: string,
  deleteLog: boolean,
): Promise<void> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  if (deleteLog) requireMayDeleteBackups(caller, 'Deleting what was captured');
  await platform.database.tenant(organizationId, async (transaction) => {
    const project = await projectStore.get(transaction, organizationId, projectId);
    const row = await pitrStore.lock(transaction, organizationId, projectId);
    if (!row || (!row.enabled && !deleteLog))
      throw new Problem('INVALID_STATE', 'Point-in-time recovery is not switched on.', { details: {} });
    if (deleteLog) await requireUnread(context, transaction, row);
    const off = { ...row, enabled: false };
    const shown = deleteLog ? noPitr : presentSummary(off, await coverageOfLog(transaction, off), platform.clock.now());
    if (row.enabled) await stopCapture(context, transaction, project, row, shown);
    if (deleteLog) await deleteLogOf(context, transaction, row);
    await audit.noteCaller(transaction, caller, {
      action: 'pitr.disabled',
      resource: { type: 'project', id: projectId },
      details: { deleteLog },
    });
  });
}

/** A restore that is resumed needs the log again. */
async function requireUnread(context: PitrContext, transaction: Transaction, row: LogRow): Promise<void> {
  const moments = await context.momentsRead(transaction, row.organizationId, row.projectId);
  if (moments.length === 0) return;
  const ids = [...new Set(moments.map(({ id }) => id))];
  throw new Problem('RESOURCE_IN_USE', 'A restore brings back a moment of this log; wait for it or cancel it.', {
    details: { usedBy: ids.slice(0, 100).map((id) => ({ type: 'restore', id })) },
  });
}

/** The capturing process writes what it heard and ends, and no other process starts. */
async function stopCapture(
  context: PitrContext,
  transaction: Transaction,
  project: ProjectRow,
  row: LogRow,
  shown: PitrInEvent,
): Promise<void> {
  const { clock, outbox } = context.backups.platform;
  await pitrStore.update(transaction, row.organizationId, row.projectId, {
    enabled: false,
    error: null,
    updatedAt: clock.now(),
  });
  await outbox.emit(transaction, pitrSwitched('pitr.disabled', project, shown));
}

/** Removes the rows at once and the objects as a job; the bases expire when their days are over. */
export async function deleteLogOf(context: PitrContext, transaction: Transaction, row: LogRow): Promise<void> {
  const { organizationId, projectId, storageDestinationId, logId, retentionDays } = row;
  const { queue, clock } = context.backups.platform;
  await pitrStore.remove(transaction, organizationId, projectId);
  const expiresAt = new Date(clock.now().getTime() + retentionDays * dayMs);
  await baseStore.expireWithLog(transaction, organizationId, projectId, retentionDays, expiresAt);
  await queue.enqueue(transaction, removeLogJob, { organizationId, storageDestinationId, logId }, { key: logId });
  await removeOriginals(context, transaction, row, []);
}

/**
 * Removes the logs from which time was taken, together with the log that took it: a rescan would find that time again
 * in them.
 */
export async function removeOriginals(
  { backups: { platform } }: PitrContext,
  transaction: Transaction,
  { organizationId, joined }: LogRow,
  kept: LogRow['joined'],
): Promise<void> {
  const going = joined.filter(({ logId }) => !kept.some((one) => one.logId === logId));
  for (const { logId, storageDestinationId } of new Map(going.map((one) => [one.logId, one])).values()) {
    const data = { organizationId, storageDestinationId, logId };
    await platform.queue.enqueue(transaction, removeLogJob, data, { key: logId });
  }
}

/** For a project that is deleted or moves to another organization: the log is sealed for this organization alone. */
export async function endPitrOf(context: PitrContext, transaction: Transaction, project: ProjectRow): Promise<void> {
  const row = await pitrStore.lock(transaction, project.organizationId, project.id);
  if (!row) return;
  if (row.enabled) await stopCapture(context, transaction, project, row, noPitr);
  await deleteLogOf(context, transaction, row);
}
