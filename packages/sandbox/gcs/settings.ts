import { GcsError, notImplemented } from './errors.ts';
import type { BucketSettings, ObjectSettings } from './model.ts';

const texts = [
  'contentType',
  'cacheControl',
  'contentDisposition',
  'contentEncoding',
  'contentLanguage',
  'customTime',
] as const;
const holds = ['temporaryHold', 'eventBasedHold'] as const;
/** Clients that read the resource first send these back; they cannot be set. */
const outputOnly = [
  'kind',
  'id',
  'selfLink',
  'mediaLink',
  'name',
  'bucket',
  'generation',
  'metageneration',
  'size',
  'md5Hash',
  'crc32c',
  'etag',
  'timeCreated',
  'updated',
  'timeStorageClassUpdated',
  'retentionExpirationTime',
  'timeDeleted',
  'timeFinalized',
  'componentCount',
];

/** Takes the settings out of an object resource, refusing what it does not know. Null removes a setting. */
export function readObjectSettings(
  resource: Record<string, unknown>,
  bucket: BucketSettings,
  nowMs: number,
  base: ObjectSettings = {},
): ObjectSettings {
  const settings: ObjectSettings = { ...base };
  for (const [name, value] of Object.entries(resource)) {
    if (outputOnly.includes(name) || value === undefined) continue;
    if ((texts as readonly string[]).includes(name)) setText(settings, name as (typeof texts)[number], value);
    else if ((holds as readonly string[]).includes(name)) settings[name as (typeof holds)[number]] = value === true;
    else if (name === 'metadata') settings.metadata = readMetadata(value, base.metadata ?? {});
    else if (name === 'retention') setRetention(settings, value, bucket, nowMs);
    else if (name === 'storageClass' && value === 'STANDARD') continue;
    else throw notImplemented(`Field ${name} of an object`);
  }
  return settings;
}

function setText(settings: ObjectSettings, name: (typeof texts)[number], value: unknown): void {
  if (value === null) delete settings[name];
  else if (typeof value === 'string') settings[name] = value;
  else throw new GcsError('invalid', `Invalid value for field ${name}.`);
}

function readMetadata(value: unknown, base: Record<string, string>): Record<string, string> {
  if (value === null) return {};
  if (typeof value !== 'object') throw new GcsError('invalid', 'Invalid value for field metadata.');
  const merged: Record<string, string> = { ...base };
  for (const [name, text] of Object.entries(value as Record<string, unknown>)) {
    if (text === null) delete merged[name];
    else if (typeof text === 'string') merged[name] = text;
    else throw new GcsError('invalid', `Metadata values are strings: ${name}.`);
  }
  return merged;
}

function setRetention(settings: ObjectSettings, value: unknown, bucket: BucketSettings, nowMs: number): void {
  if (value === null) {
    delete settings.retention;
    return;
  }
  if (!bucket.objectRetention) throw new GcsError('invalid', 'Object retention is not enabled for this bucket.');
  const { mode, retainUntilTime } = value as Record<string, unknown>;
  const untilMs = typeof retainUntilTime === 'string' ? Date.parse(retainUntilTime) : Number.NaN;
  if ((mode !== 'Locked' && mode !== 'Unlocked') || Number.isNaN(untilMs))
    throw new GcsError('invalid', 'A retention has a mode, Locked or Unlocked, and a retainUntilTime.');
  if (untilMs <= nowMs) throw new GcsError('invalid', 'retainUntilTime must be in the future.');
  settings.retention = { mode, retainUntilTime: new Date(untilMs).toISOString() };
}
