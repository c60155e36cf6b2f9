import type { Config } from '../../config.ts';
import type { CountLimit } from '../organizations/index.ts';
import { scheduleStore } from './schedule-store.ts';

/** How many schedules one organization may have. */
export function schedulesLimit({ SCHEDULES_PER_ORGANIZATION_MAX: limit }: Config): CountLimit {
  return { what: 'schedules', limit, count: scheduleStore.count };
}
