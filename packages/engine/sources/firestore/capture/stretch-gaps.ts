import type { CaptureGap, Instant } from '../../../ports/index.ts';
import type { CaptureParts } from './capture-parts.ts';

interface Stretch {
  readonly from: Instant;
  readonly through: Instant;
}

type Limits = Pick<CaptureParts['options'], 'exactWithinMs' | 'batchIntervalMs'>;

/** Changes while nobody listened are known only as of the end, and documents that came and went are not known at all. */
export function gapOfInterruption(
  { from, through }: Stretch,
  hasChanges: boolean,
  blindMs: number,
  { exactWithinMs }: Limits,
): CaptureGap {
  const interrupted = 'Capture was interrupted:';
  const brief = { from, through, reason: 'Capture was interrupted for a moment.', isBrief: true } as const;
  if (lengthMs({ from, through }) <= exactWithinMs) return brief;
  if (hasChanges)
    return { from, through, reason: `${interrupted} what changed meanwhile is known only as of the end.` };
  // A database without changes sends few snapshots, but changes are heard at once, so that time was not missed.
  if (blindMs <= exactWithinMs) return brief;
  const reason = `${interrupted} nothing is different behind it, but what came and went meanwhile is not known.`;
  return { from, through, reason, isQuiet: true };
}

/**
 * A stretch is usually as long as a batch is open. When it was longer, what came and went in a new group is unknown for
 * too long.
 */
export function gapOfNewGroups(
  { from, through }: Stretch,
  { exactWithinMs, batchIntervalMs }: Limits,
): CaptureGap | undefined {
  if (lengthMs({ from, through }) <= exactWithinMs + batchIntervalMs) return undefined;
  const reason = 'A collection appeared: what changed in it meanwhile is known only as of the end.';
  return { from, through, reason };
}

function lengthMs({ from, through }: Stretch): number {
  return Date.parse(through) - Date.parse(from);
}
