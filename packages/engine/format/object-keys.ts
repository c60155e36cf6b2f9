import type { Instant } from '../ports/instant.ts';

/** Where everything lies below a destination's prefix. The only place that spells object keys. */
export const backupsPrefix = 'backups/';
export const logsPrefix = 'logs/';
/** The organization's keys, sealed under the service's master key. */
export const keysPrefix = 'keys/';

export function keyCopyPrefix(organizationId: string): string {
  return `${keysPrefix}${organizationId}/`;
}

export function keyCopyKey(organizationId: string, name: string): string {
  return `${keyCopyPrefix(organizationId)}${name}`;
}

const keyCopyPattern = /^keys\/([A-Za-z0-9_-]{1,64})\/[0-9a-f]{32}$/;

/** The organization to which a key copy with this object key belongs, if the key has exactly our form. */
export function ownerOfKeyCopy(key: string): string | undefined {
  return keyCopyPattern.exec(key)?.[1];
}

export function manifestKey(backupId: string): string {
  return `${backupsPrefix}${backupId}/manifest`;
}

export function shardKey(backupId: string, objectId: string): string {
  return `${backupsPrefix}${backupId}/shards/${objectId}`;
}

export function segmentKey(backupId: string, objectId: string): string {
  return `${backupsPrefix}${backupId}/segments/${objectId}`;
}

/** Everything that belongs to a backup, for deletion and for finding orphans. */
export function backupPrefix(backupId: string): string {
  return `${backupsPrefix}${backupId}/`;
}

const objectPattern = /^(?:manifest|shards\/[0-9a-f]{32}|segments\/[0-9a-f]{32})$/;
const backupKeyPattern = /^backups\/(bkp_[0-9a-hjkmnp-tv-z]{26})\//i;

/** Whether an object key has exactly the form of this backup's objects. */
export function isObjectOf(backupId: string, key: string): boolean {
  const prefix = backupPrefix(backupId);
  return key.startsWith(prefix) && objectPattern.test(key.slice(prefix.length));
}

/** The backup to which an object key belongs, if the key has exactly our form. Anything else is not ours. */
export function backupIdOfKey(key: string): string | undefined {
  const backupId = backupKeyPattern.exec(key)?.[1];
  return backupId !== undefined && isObjectOf(backupId, key) ? backupId : undefined;
}

export function logManifestKey(logId: string): string {
  return `${logsPrefix}${logId}/manifest`;
}

export function logSegmentsPrefix(logId: string): string {
  return `${logsPrefix}${logId}/segments/`;
}

export function logSegmentKey(logId: string, coveredFrom: Instant, objectId: string): string {
  return `${logSegmentsPrefix(logId)}${instantDigits(coveredFrom)}-${objectId}`;
}

/** The beginning of a segment's stretch, as digits that sort like the instants. */
export function logSegmentStart(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1).split('-')[0]!;
}

export function instantDigits(instant: Instant): string {
  return instant.replaceAll(/\D/g, '');
}

const logKeyPattern = /^logs\/(log_[0-9a-hjkmnp-tv-z]{26})\/(?:manifest|segments\/\d+-[0-9a-f]{32})$/i;

/** The log to which an object key belongs, if the key has exactly our form. */
export function logIdOfKey(key: string): string | undefined {
  return logKeyPattern.exec(key)?.[1];
}

const ownerIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

export function isOwnerId(text: string): boolean {
  return ownerIdPattern.test(text);
}

/** Everything of a log lies below it. */
export function logPrefix(logId: string): string {
  return `${logsPrefix}${logId}/`;
}
