import { backupPrefix } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { usedNow } from '../../platform/database/use-locks.ts';
import type { Caller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { toProblem } from '../job-error.ts';
import type { ProjectRow } from '../projects/index.ts';
import { copyDestination, type DestinationRow, storageStore, taskStore } from '../storage/index.ts';
import { backupStore } from './backup-store.ts';
import { copyingTasks, removeRow, requireDeletable, requireFree } from './change-backup.ts';
import type { BackupsContext } from './context.ts';
import { type BackupHead, headStore } from './head-store.ts';
import { enqueueRewrap } from './keys/backup-keys.ts';
import { enqueueKeyCopy } from './keys/key-copies.ts';
import { cancelBackup } from './run/end-backup.ts';
import { chainStore } from './storage/chain-store.ts';

/**
 * Deletes every backup of a project, increments and bases together, and says how many. Throws, and deletes none, when one
 * of them must stay.
 */
export async function deleteBackupsOf(
  context: BackupsContext,
  transaction: Transaction,
  caller: Caller,
  project: ProjectRow,
): Promise<number> {
  const { organizationId } = project;
  const rows = await headStore.lockAll(transaction, organizationId, project.id);
  const usedBy = new Map<string, { type: string; id: string }>();
  for (const row of rows) {
    requireFree(context, row);
    const users = await context.readers(transaction, organizationId, row.id);
    for (const one of [...users, ...(await copyingTasks(transaction, row))]) usedBy.set(one.id, one);
  }
  // A reader that starts in between is waited for before the objects are removed.
  const ids = rows.map(({ id }) => id);
  for (const id of await usedNow(transaction, ids)) usedBy.set(id, { type: 'reader', id });
  if (usedBy.size > 0)
    throw new Problem('RESOURCE_IN_USE', 'Something works with backups of this project or reads them now.', {
      details: { usedBy: [...usedBy.values()].slice(0, 100) },
    });
  for (const row of rows) {
    await removeRow(context, transaction, row);
    await context.audit.noteCaller(transaction, caller, {
      action: 'backup.deleted',
      resource: { type: 'backup', id: row.id },
      details: { projectId: project.id },
    });
  }
  return rows.length;
}

/** The same for the backups that a schedule made. Increments of others on them stand in the way. */
export async function deleteBackupsOfSchedule(
  context: BackupsContext,
  transaction: Transaction,
  caller: Caller,
  schedule: { id: string; organizationId: string; projectId: string },
): Promise<number> {
  const { organizationId } = schedule;
  const all = await headStore.lockAll(transaction, organizationId, schedule.projectId);
  const gone = new Set<string>();
  // Newest first: an increment is removed before its base.
  for (const row of all.filter(({ scheduleId }) => scheduleId === schedule.id)) {
    if (row.legalHold) requireFree(context, row);
    if (row.status === 'pending' || row.status === 'running') {
      await cancelBackup(context, transaction, row);
      await removeRow(context, transaction, { ...row, status: 'cancelled' });
    } else {
      for (const removable of await requireDeletable(context, transaction, row)) {
        await removeRow(context, transaction, removable.row, removable.replacedBy);
        gone.add(removable.row.id);
      }
    }
    gone.add(row.id);
    await context.audit.noteCaller(transaction, caller, {
      action: 'backup.deleted',
      resource: { type: 'backup', id: row.id },
      details: { projectId: row.projectId, scheduleId: schedule.id },
    });
  }
  return gone.size;
}

/**
 * Moves the backups of a project to another organization: their destinations are copied there, their keys are rewrapped
 * with that organization's key, and jobs rewrite the manifests in the buckets. The transaction spans both
 * organizations.
 */
export async function moveBackups(
  context: BackupsContext,
  transaction: Transaction,
  project: ProjectRow,
  toOrganizationId: string,
): Promise<void> {
  const { organizationId } = project;
  const rows = await headStore.lockAll(transaction, organizationId, project.id);
  if (rows.length === 0) return;
  await requireNoRemovalsOpen(transaction, project);
  const destinations = await copyDestinations(context, transaction, rows, toOrganizationId);
  const copyIds = new Map(destinations.map(({ row, copy }) => [row.id, copy.id]));
  const keys = await context.keys.ring(transaction, organizationId);
  const newKeys = await context.keys.ring(transaction, toOrganizationId);
  for (const row of rows) {
    const envelope = row.envelope && (await rewrap(row, keys.ring, newKeys.ring));
    await backupStore.moveTo(transaction, row.id, toOrganizationId, {
      storageDestinationId: copyIds.get(row.storageDestinationId) ?? row.storageDestinationId,
      envelope,
      keyId: envelope ? newKeys.currentKeyId : null,
      updatedAt: context.platform.clock.now(),
    });
    if (envelope)
      await enqueueRewrap(context.platform.queue, transaction, {
        organizationId: toOrganizationId,
        id: row.id,
        envelope,
        movedFrom: { organizationId, storageDestinationIds: [...copyIds.keys()] },
      });
  }
  const ids = rows.map(({ id }) => id);
  await backupStore.moveCopiesTo(transaction, ids, toOrganizationId, copyIds);
  await shareFolders(context, destinations, ids);
}

/** The last step, because the second file names stay even when the move is refused afterwards. */
async function shareFolders(
  context: BackupsContext,
  destinations: readonly CopiedDestination[],
  ids: readonly string[],
) {
  for (const { row, copy } of destinations.filter(({ row: { type } }) => type === 'local'))
    await context.stores.shareFiles(row, copy, ids.map(backupPrefix)).catch((error: unknown) => {
      throw toProblem(error);
    });
}

/** In another organization their replacement could not be found, and their removal would be undone. */
async function requireNoRemovalsOpen(transaction: Transaction, { organizationId, id }: ProjectRow): Promise<void> {
  const removals = await chainStore.waitingForReplacement(transaction, organizationId, id);
  if (removals.length > 0)
    throw new Problem(
      'RESOURCE_IN_USE',
      'Merged backups of this project are still being removed; move it afterwards.',
      {
        details: { usedBy: removals.map((backupId) => ({ type: 'backup', id: backupId })) },
      },
    );
}

type Ring = Awaited<ReturnType<BackupsContext['keys']['ring']>>['ring'];

async function rewrap(row: BackupHead, from: Ring, to: Ring) {
  try {
    return await to.wrap(row.id, await from.unwrap(row.id, row.envelope));
  } catch (error) {
    throw toProblem(error);
  }
}

interface CopiedDestination {
  row: DestinationRow;
  copy: DestinationRow;
}

/** Copies every destination that holds one of the backups into the other organization. */
async function copyDestinations(
  context: BackupsContext,
  transaction: Transaction,
  rows: readonly BackupHead[],
  toOrganizationId: string,
): Promise<CopiedDestination[]> {
  const organizationId = rows[0]!.organizationId;
  const copies = await backupStore.copies(
    transaction,
    organizationId,
    rows.map(({ id }) => id),
  );
  const ids = new Set([...copies, ...rows].map(({ storageDestinationId }) => storageDestinationId));
  const copied: CopiedDestination[] = [];
  for (const row of await storageStore.many(transaction, organizationId, [...ids])) {
    const tasks = await taskStore.openOf(transaction, organizationId, row.id);
    if (tasks.length > 0)
      throw new Problem('RESOURCE_IN_USE', 'A task works on a destination that holds backups of this project.', {
        details: { usedBy: tasks.map(({ id }) => ({ type: 'storage_task', id })).slice(0, 100) },
      });
    const copy = await copyDestination(context.platform, transaction, row, toOrganizationId);
    copied.push({ row, copy });
    // A folder works at once. A bucket gets the keys together with its credentials; until then the former
    // organization's keys stay in it.
    if (row.type === 'local') await enqueueKeyCopy(context.platform.queue, transaction, toOrganizationId, copy.id);
  }
  return copied;
}
