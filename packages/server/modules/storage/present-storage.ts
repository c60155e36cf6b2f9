import type { DataOf, ItemOf, Operations } from '@holdfast/contract';
import type { DestinationRow, StorageSummary } from './storage-store.ts';
import type { TaskRow } from './tasks/task-store.ts';

export type StorageView = DataOf<Operations['getStorageDestination']>;
export type TaskView = DataOf<Operations['getStorageTask']>;

export type StorageProject = ItemOf<Operations['listStorageProjects']>;

export interface StoragePlace {
  readonly organizationId: string;
  readonly destinationId: string;
}

export interface StorageContents {
  readonly projects: StorageProject[];
  /** Of all projects. */
  readonly count: number;
}

export interface StorageUsage {
  backups: number;
  bytes: number;
}

export function presentStorage(
  row: DestinationRow,
  defaultStorageId: string | null,
  usage: StorageUsage = { backups: 0, bytes: 0 },
): StorageView {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    bucket: row.bucket,
    region: row.region,
    endpoint: row.endpoint,
    prefix: row.prefix,
    path: row.path,
    forcePathStyle: row.forcePathStyle,
    objectLock: row.objectLock,
    status: row.status,
    error: row.error as StorageView['error'],
    lastCheckedAt: row.lastCheckedAt?.toISOString() ?? null,
    lastTest: row.lastTest,
    isDefault: row.id === defaultStorageId,
    usage,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentStorageSummary(row: DestinationRow): StorageSummary {
  return { id: row.id, name: row.name, type: row.type };
}

export function presentTask(row: TaskRow): TaskView {
  return {
    id: row.id,
    storageDestinationId: row.storageDestinationId,
    kind: row.kind,
    status: row.status,
    progress: { waitingFor: null, documentsTotal: null, ...row.progress },
    result: row.result,
    error: row.error as TaskView['error'],
    createdAt: row.createdAt.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
  };
}
