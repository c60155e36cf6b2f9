import { useAll } from '../../api/calls.ts';
import type { Destination } from './storage-form.tsx';

/** A schedule that is on and sends its backups to a destination. */
export interface Writer {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string | null;
}

/** Named by them, or the default of those that name none. */
export function useWriters({ id, isDefault }: Pick<Destination, 'id' | 'isDefault'>): readonly Writer[] {
  const schedules = useAll('listSchedules', {}).rows ?? [];
  const projects = useAll('listProjects', {}).rows ?? [];
  return schedules
    .filter(
      ({ enabled, storageDestinationIds: named }) => enabled && (named.length > 0 ? named.includes(id) : isDefault),
    )
    .map((schedule) => ({
      id: schedule.id,
      name: schedule.name,
      projectId: schedule.projectId,
      projectName: projects.find((project) => project.id === schedule.projectId)?.name ?? null,
    }));
}
