import type { BodyInput, ItemOf, Operations } from '@holdfast/contract';
import { t } from '../../texts/index.ts';
import type { ServiceAccountKey } from '../projects/key-drop.tsx';

export type StorageType = 's3' | 'gcs' | 'spaces' | 'local';

/** What the form holds, whatever the kind of storage. */
export interface Place {
  type: StorageType;
  name: string;
  accessKeyId: string;
  secretAccessKey: string;
  serviceAccountKey: ServiceAccountKey | null;
  bucket: string;
  region: string;
  endpoint: string;
  prefix: string;
  pathStyle: boolean;
  path: string;
  lockDays: number | null;
  lockMode: 'governance' | 'compliance';
}

type Body = BodyInput<Operations['createStorageDestination']>;

export function requestOf(place: Place): Body {
  const name = place.name || place.bucket || t.storage.types[place.type];
  if (place.type === 'local') return { type: 'local', name, path: place.path };
  const common = {
    name,
    bucket: place.bucket,
    ...(place.region ? { region: place.region } : {}),
    ...(place.prefix ? { prefix: place.prefix } : {}),
    ...(place.lockDays === null ? {} : { objectLock: { mode: place.lockMode, days: place.lockDays } }),
  };
  if (place.type === 'gcs')
    return {
      ...common,
      type: 'gcs',
      credentials: { serviceAccountKey: { ...(place.serviceAccountKey as ServiceAccountKey) } },
    };
  return {
    ...common,
    type: place.type,
    ...(place.endpoint ? { endpoint: place.endpoint } : {}),
    ...(place.pathStyle ? { forcePathStyle: true } : {}),
    credentials: { accessKeyId: place.accessKeyId, secretAccessKey: place.secretAccessKey },
  };
}

type Destination = ItemOf<Operations['listStorageDestinations']>;

/** What a saved destination has to change to be the one that is filled in; undefined where it would be another place. */
export function changesOf(
  saved: Destination,
  place: Place,
): BodyInput<Operations['updateStorageDestination']> | undefined {
  const isSamePlace = saved.type === place.type && saved.bucket === place.bucket && saved.prefix === place.prefix;
  const wanted = requestOf(place);
  if (!isSamePlace || wanted.type === 'local') return undefined;
  const { credentials, name, region, objectLock } = wanted;
  const address =
    wanted.type === 'gcs' ? {} : { endpoint: wanted.endpoint ?? null, forcePathStyle: wanted.forcePathStyle ?? false };
  return { credentials, name, ...(region ? { region } : {}), objectLock: objectLock ?? null, ...address };
}
