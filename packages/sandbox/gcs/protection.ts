import { GcsError } from './errors.ts';
import type { BucketSettings, ObjectSettings, StoredObject } from './model.ts';

/** When the bucket's policy releases an object; an event-based hold stops that clock. */
export function retentionExpiresAtMs(object: StoredObject, bucket: BucketSettings): number | undefined {
  if (!bucket.retentionPolicy || object.settings.eventBasedHold) return undefined;
  return object.createdAtMs + bucket.retentionPolicy.retentionPeriodSeconds * 1000;
}

/** Throws when an object may not be deleted or replaced yet. */
export function checkReplaceable(object: StoredObject | undefined, bucket: BucketSettings, nowMs: number): void {
  if (!object) return;
  const name = `${bucket.name}/${object.name}`;
  if (object.settings.temporaryHold || object.settings.eventBasedHold)
    throw new GcsError(
      'objectUnderActiveHold',
      `Object '${name}' is under active ${object.settings.temporaryHold ? 'Temporary' : 'Event-Based'} hold and cannot be deleted, overwritten or archived until hold is removed.`,
    );
  const expiresAtMs = Math.max(
    retentionExpiresAtMs(object, bucket) ?? 0,
    object.settings.retention ? Date.parse(object.settings.retention.retainUntilTime) : 0,
  );
  if (expiresAtMs > nowMs)
    throw new GcsError(
      'retentionPolicyNotMet',
      `Object '${name}' is subject to bucket's retention policy or object retention and cannot be deleted or overwritten until ${new Date(expiresAtMs).toISOString()}`,
    );
}

/** Throws when an object's own retention would be loosened: never allowed for Locked, only explicitly for Unlocked. */
export function checkRetentionChange(
  current: ObjectSettings['retention'],
  next: ObjectSettings['retention'],
  overrideUnlocked: boolean,
  nowMs: number,
): void {
  if (!current || Date.parse(current.retainUntilTime) <= nowMs) return;
  const tightens =
    next !== undefined &&
    Date.parse(next.retainUntilTime) >= Date.parse(current.retainUntilTime) &&
    (next.mode === current.mode || next.mode === 'Locked');
  if (tightens) return;
  if (current.mode === 'Locked' || !overrideUnlocked)
    throw new GcsError('forbidden', 'The retention of this object cannot be reduced or removed.');
}
