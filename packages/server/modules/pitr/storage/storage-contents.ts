import type { Transaction } from '../../../platform/database/database.ts';
import { backupsByProject } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { StorageContents, StoragePlace } from '../../storage/index.ts';
import { logsByProject, sizesOfLogs } from './held-logs-store.ts';

const noBackups = { backups: 0, bytes: 0, newestBackupAt: null };
const noSegments = { segments: 0, bytes: 0 };

/** What some projects have stored in a destination, those with the most in backups first. */
export async function storageContents(
  transaction: Transaction,
  { organizationId, destinationId }: StoragePlace,
  { start, limit }: { start: number; limit: number },
): Promise<StorageContents> {
  const logs = await logsByProject(transaction, organizationId, destinationId);
  const backups = await backupsByProject(transaction, organizationId, destinationId);
  const stored = (projectId: string) => backups.get(projectId)?.bytes ?? 0;
  const all = [...new Set([...backups.keys(), ...logs.keys()])];
  const ids = all
    .toSorted((one, other) => stored(other) - stored(one) || (one < other ? -1 : 1))
    .slice(start, start + limit);
  const logIds = ids.flatMap((projectId) => logs.get(projectId)?.logId ?? []);
  const sizes = await sizesOfLogs(transaction, organizationId, logIds);
  const kept = await projectStore.manyKept(transaction, organizationId, ids);
  const projects = new Map(kept.map((project) => [project.id, project]));
  const logOf = (projectId: string) => {
    const log = logs.get(projectId);
    if (!log) return null;
    const coveredThrough = new Date(log.coveredThrough).toISOString();
    return { enabled: log.enabled, coveredThrough, ...(sizes.get(log.logId) ?? noSegments) };
  };
  const page = ids.map((projectId) => {
    const project = projects.get(projectId);
    return {
      projectId,
      name: project?.name ?? null,
      isConnected: project !== undefined && project.deletedAt === null,
      ...(backups.get(projectId) ?? noBackups),
      log: logOf(projectId),
    };
  });
  return { projects: page, count: all.length };
}
