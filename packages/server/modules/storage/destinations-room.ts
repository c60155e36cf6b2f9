import type { Config } from '../../config.ts';
import type { Room } from '../organizations/index.ts';
import { storageStore } from './storage-store.ts';

/** How many destinations one organization may have. */
export function destinationsRoom({ STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX: limit }: Config): Room {
  return { what: 'storage destinations', limit, count: storageStore.count };
}
