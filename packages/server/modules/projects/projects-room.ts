import type { Config } from '../../config.ts';
import type { Room } from '../organizations/index.ts';
import { projectStore } from './project-store.ts';

/** How many projects an organization may connect. */
export function projectsRoom({ PROJECTS_PER_ORGANIZATION_MAX: limit }: Config): Room {
  return { what: 'projects', limit, count: projectStore.count };
}
