import type { Transaction } from '../../platform/database/database.ts';
import type { ProjectRow } from '../projects/index.ts';
import type { RestoresContext } from './context.ts';
import { drillStore } from './drills/drill-store.ts';
import { moveJournals } from './journal/move-journals.ts';
import { rangeStore } from './ranges/range-store.ts';
import { restoreStore } from './restore-store.ts';

interface OpenWork {
  type: string;
  id: string;
}

/** Restores and drills that read a backup now. */
export async function readersOf(
  transaction: Transaction,
  organizationId: string,
  backupId: string,
): Promise<OpenWork[]> {
  const restores = await restoreStore.readersOf(transaction, organizationId, backupId);
  return named(restores, await drillStore.readersOf(transaction, organizationId, backupId));
}

/** The backups of a project that a restore or a drill reads now. */
export async function backupsRead(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<Set<string>> {
  const restored = await restoreStore.backupsRead(transaction, organizationId, projectId);
  return new Set([...restored, ...(await drillStore.backupsRead(transaction, organizationId, projectId))]);
}

/** Safety backups of a project, each with the end of its restore, for restores that ended since then. */
export async function safetyBackupsSince(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
  since: Date,
): Promise<Map<string, Date>> {
  const rows = await restoreStore.safetyBackupsSince(transaction, organizationId, projectId, since);
  return new Map(rows.map(({ id, endedAt }) => [id, endedAt]));
}

/** Moments of a project that open restores read. */
export const momentsRead = (transaction: Transaction, organizationId: string, projectId: string) =>
  restoreStore.momentsRead(transaction, organizationId, projectId);

/** Restores from or into a project, and drills of its backups or into it, that have not ended. */
export async function openWorkOf(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<OpenWork[]> {
  const restores = await restoreStore.openOf(transaction, organizationId, projectId);
  return named(restores, await drillStore.openOf(transaction, organizationId, projectId));
}

/** Moves the history of a project's restores together with its backups. */
export async function moveRestores(
  context: Pick<RestoresContext, 'keys'>,
  transaction: Transaction,
  project: ProjectRow,
  toOrganizationId: string,
): Promise<void> {
  await moveJournals(context, transaction, project, toOrganizationId);
  await rangeStore.moveTo(transaction, project, toOrganizationId);
  await restoreStore.moveTo(transaction, project, toOrganizationId);
  await drillStore.moveTo(transaction, project, toOrganizationId);
}

function named(restores: readonly string[], drills: readonly string[]): OpenWork[] {
  return [...restores.map((id) => ({ type: 'restore', id })), ...drills.map((id) => ({ type: 'drill', id }))];
}
