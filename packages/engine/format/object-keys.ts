import type { Instant } from '../ports/instant.ts';

/** Where everything lies below a destination's prefix. The only place that spells object keys. */
export const backupsPrefix = 'backups/';
export const logsPrefix = 'logs/';

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

export function logManifestKey(logId: string): string {
  return `${logsPrefix}${logId}/manifest`;
}

export function logSegmentsPrefix(logId: string): string {
  return `${logsPrefix}${logId}/segments/`;
}

export function logSegmentKey(logId: string, coveredFrom: Instant, objectId: string): string {
  return `${logSegmentsPrefix(logId)}${coveredFrom.replaceAll(/\D/g, '')}-${objectId}`;
}

const ownerIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

export function isOwnerId(text: string): boolean {
  return ownerIdPattern.test(text);
}
