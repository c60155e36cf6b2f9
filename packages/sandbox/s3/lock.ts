import { S3Error } from './errors.ts';
import type { BucketSettings, ObjectVersion, Retention } from './model.ts';

type Headers = Readonly<Record<string, string | undefined>>;
const dayMs = 24 * 3600 * 1000;

export interface RequestedLock {
  retention?: Retention;
  legalHold: boolean;
}

/** The lock that a new object gets: what its headers ask for, or else the bucket's default. */
export function requestedLock(headers: Headers, bucket: BucketSettings, nowMs: number): RequestedLock {
  const mode = headers['x-amz-object-lock-mode'];
  const until = headers['x-amz-object-lock-retain-until-date'];
  const hold = headers['x-amz-object-lock-legal-hold'];
  if ((mode ?? until ?? hold) !== undefined && !bucket.objectLock)
    throw new S3Error('InvalidRequest', 'Bucket is missing Object Lock Configuration');
  if ((mode === undefined) !== (until === undefined))
    throw new S3Error(
      'InvalidArgument',
      'x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied',
    );
  if (hold !== undefined && hold !== 'ON' && hold !== 'OFF')
    throw new S3Error('InvalidArgument', 'Legal Hold must be either of ON or OFF');
  const retention = mode !== undefined ? parseRetention(mode, until!, nowMs) : defaultRetention(bucket, nowMs);
  return { legalHold: hold === 'ON', ...(retention && { retention }) };
}

export function asksForLock(headers: Headers): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-amz-object-lock-'));
}

export function parseRetention(mode: string, until: string, nowMs: number): Retention {
  if (mode !== 'GOVERNANCE' && mode !== 'COMPLIANCE')
    throw new S3Error('InvalidArgument', 'Unknown wormMode directive.');
  const untilMs = Date.parse(until);
  if (Number.isNaN(untilMs)) throw new S3Error('InvalidArgument', 'The retain until date must be an ISO 8601 date.');
  if (untilMs <= nowMs) throw new S3Error('InvalidArgument', 'The retain until date must be in the future!');
  return { mode, untilMs };
}

function defaultRetention(bucket: BucketSettings, nowMs: number): Retention | undefined {
  const rule = bucket.defaultRetention;
  if (!rule) return undefined;
  const until = new Date(nowMs + (rule.days ?? 0) * dayMs);
  until.setUTCFullYear(until.getUTCFullYear() + (rule.years ?? 0));
  return { mode: rule.mode, untilMs: until.getTime() };
}

/** Throws when this version may not be removed yet. */
export function checkRemovable(version: ObjectVersion, bypassGovernance: boolean, nowMs: number): void {
  const refused = () => new S3Error('AccessDenied', 'Access Denied because object protected by object lock.');
  if (version.legalHold) throw refused();
  if (!version.retention || version.retention.untilMs <= nowMs) return;
  if (version.retention.mode === 'COMPLIANCE' || !bypassGovernance) throw refused();
}

/** Throws when a running retention would be loosened without the right to do so. */
export function checkRetentionChange(
  version: ObjectVersion,
  next: Retention | undefined,
  bypassGovernance: boolean,
  nowMs: number,
): void {
  const current = version.retention;
  if (!current || current.untilMs <= nowMs) return;
  const tightens =
    next !== undefined && next.untilMs >= current.untilMs && (next.mode === current.mode || next.mode === 'COMPLIANCE');
  if (tightens) return;
  if (current.mode === 'COMPLIANCE' || !bypassGovernance)
    throw new S3Error('AccessDenied', 'Access Denied because object protected by object lock.');
}
