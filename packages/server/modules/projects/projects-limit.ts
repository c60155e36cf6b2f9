import type { Config } from '../../config.ts';
import type { CountLimit } from '../organizations/index.ts';
import { projectStore } from './project-store.ts';

/** How many projects an organization may connect. */
export function projectsLimit({ PROJECTS_PER_ORGANIZATION_MAX: limit }: Config): CountLimit {
  return { what: 'projects', limit, count: projectStore.count };
}
