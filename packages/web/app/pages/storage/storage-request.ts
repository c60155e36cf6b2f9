import type { BodyInput, ItemOf, Operations } from '@holdfast/contract';
import { t } from '../../texts/index.ts';
import type { ServiceAccountKey } from '../projects/key-drop.tsx';

export type StorageType = 's3' | 'gcs' | 'spaces' | 'local';

/** The values of the form, for all kinds of storage. */
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

export const emptyPlace: Place = {
  type: 's3',
  name: '',
  accessKeyId: '',
  secretAccessKey: '',
  serviceAccountKey: null,
  bucket: '',
  region: '',
  endpoint: '',
  prefix: '',
  pathStyle: false,
  path: '',
  lockDays: null,
  lockMode: 'governance',
};

const ofBucket = ['bucket', 'region', 'name', 'prefix'];
const ofKeyPair = ['credentials.accessKeyId', 'credentials.secretAccessKey', 'credentials', 'endpoint', ...ofBucket];

/** Fields that can show an error. */
export const placedFaults: Readonly<Record<StorageType, readonly string[]>> = {
  s3: ofKeyPair,
  spaces: ofKeyPair,
  gcs: ['credentials.serviceAccountKey', 'credentials', ...ofBucket],
  local: ['name', 'path', 'type'],
};

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
type Changes = BodyInput<Operations['updateStorageDestination']>;

/** The form values of a saved destination; credentials are never returned. */
export const placeOf = (saved: Destination): Place => ({
  ...emptyPlace,
  type: saved.type,
  name: saved.name,
  bucket: saved.bucket ?? '',
  region: saved.region ?? '',
  endpoint: saved.endpoint ?? '',
  prefix: saved.prefix,
  pathStyle: saved.forcePathStyle,
  path: saved.path ?? '',
  lockDays: saved.objectLock?.days ?? null,
  lockMode: saved.objectLock?.mode ?? 'governance',
});

/** Whether the place changes, so that the key must be given again. */
export const isElsewhere = (saved: Place, place: Place): boolean =>
  place.bucket !== saved.bucket || place.region !== saved.region || place.endpoint !== saved.endpoint;

/** Sends only edited fields; what others changed meanwhile stays. */
export function editsOf(saved: Place, place: Place): Changes {
  const { lockDays, lockMode, serviceAccountKey, accessKeyId, secretAccessKey } = place;
  const isLockSame = lockDays === saved.lockDays && (lockDays === null || lockMode === saved.lockMode);
  return {
    ...(place.name === saved.name ? {} : { name: place.name }),
    ...(place.bucket === saved.bucket ? {} : { bucket: place.bucket }),
    ...(place.region === saved.region ? {} : { region: place.region }),
    ...(place.endpoint === saved.endpoint ? {} : { endpoint: place.endpoint || null }),
    ...(place.pathStyle === saved.pathStyle ? {} : { forcePathStyle: place.pathStyle }),
    ...(isLockSame ? {} : { objectLock: lockDays === null ? null : { mode: lockMode, days: lockDays } }),
    ...(serviceAccountKey === null ? {} : { credentials: { serviceAccountKey: { ...serviceAccountKey } } }),
    ...(accessKeyId === '' ? {} : { credentials: { accessKeyId, secretAccessKey } }),
  };
}

/** The change that turns a failed destination into the form's values; undefined if it needs a new one. */
export function changesOf(saved: Destination, place: Place): Changes | undefined {
  const isOfItsKind = saved.type === place.type && saved.prefix === place.prefix;
  if (!isOfItsKind || place.type === 'local') return undefined;
  const { name, credentials } = requestOf(place) as Exclude<Body, { type: 'local' }>;
  return { ...editsOf(placeOf(saved), place), name, credentials };
}
