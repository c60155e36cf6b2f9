import type { Config } from '../../config.ts';
import type { CountLimit } from '../organizations/index.ts';
import { storageStore } from './storage-store.ts';

/** How many destinations one organization may have. */
export function destinationsLimit({ STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX: limit }: Config): CountLimit {
  return { what: 'storage destinations', limit, count: storageStore.count };
}
