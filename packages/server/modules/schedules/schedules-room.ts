import type { Config } from '../../config.ts';
import type { Room } from '../organizations/index.ts';
import { scheduleStore } from './schedule-store.ts';

/** How many schedules one organization may have. */
export function schedulesRoom({ SCHEDULES_PER_ORGANIZATION_MAX: limit }: Config): Room {
  return { what: 'schedules', limit, count: scheduleStore.count };
}
