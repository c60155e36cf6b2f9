import { useAll } from '../../api/calls.ts';
import type { Destination } from './storage-form.tsx';

/** An enabled schedule that writes to a destination. */
export interface Writer {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string | null;
}

/** Schedules that name it, or that name none if it is the default. */
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
