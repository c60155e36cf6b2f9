import type { Transaction } from '../../../platform/database/database.ts';
import { backupsByProject } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { StorageProject } from '../../storage/index.ts';
import { logsByProject } from './held-logs-store.ts';

const noBackups = { backups: 0, bytes: 0, newestBackupAt: null };

/** What a destination holds of each project, the largest first. */
export async function storageContents(
  transaction: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<StorageProject[]> {
  const logs = await logsByProject(transaction, organizationId, destinationId);
  const backups = await backupsByProject(transaction, organizationId, destinationId);
  const ids = [...new Set([...backups.keys(), ...logs.keys()])];
  const projects = new Map(
    (await projectStore.manyKept(transaction, organizationId, ids)).map((project) => [project.id, project]),
  );
  const stored = ({ bytes, log }: StorageProject) => bytes + (log?.bytes ?? 0);
  return ids
    .map((projectId) => {
      const project = projects.get(projectId);
      return {
        projectId,
        name: project?.name ?? null,
        isConnected: project !== undefined && project.deletedAt === null,
        ...(backups.get(projectId) ?? noBackups),
        log: logs.get(projectId) ?? null,
      };
    })
    .toSorted((one, other) => stored(other) - stored(one) || (one.projectId < other.projectId ? -1 : 1));
}
