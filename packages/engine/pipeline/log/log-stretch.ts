import { EngineError } from '../../ports/errors.ts';
import { type Instant, instantFromParts, instantToParts } from '../../ports/instant.ts';
import type { LogGap, LogStretch } from './log-coverage.ts';

/** The form in a segment's annex: each mark is the number of microseconds since the mark before it. */
interface StretchAnnex {
  readonly coveredFrom: Instant;
  readonly coveredThrough: Instant;
  readonly marks?: readonly number[];
  readonly gap: LogGap | null;
}

export function encodeStretch({ coveredFrom, coveredThrough, marks, gap }: LogStretch): Uint8Array {
  let last = microsOf(coveredFrom);
  const steps = marks.map((mark) => {
    const step = microsOf(mark) - last;
    last += step;
    return step;
  });
  const annex: StretchAnnex = { coveredFrom, coveredThrough, marks: steps, gap };
  return Buffer.from(JSON.stringify(annex), 'utf8');
}

export function decodeStretch(bytes: Uint8Array): LogStretch {
  const annex = JSON.parse(Buffer.from(bytes).toString('utf8')) as StretchAnnex;
  if (typeof annex.coveredFrom !== 'string' || typeof annex.coveredThrough !== 'string')
    throw new EngineError('INTEGRITY_ERROR', 'A log segment does not say what it covers.');
  let at = microsOf(annex.coveredFrom);
  const marks = (annex.marks ?? []).map((step) => {
    at += step;
    return instantFromParts(Math.floor(at / 1e6), (at % 1e6) * 1000);
  });
  return { coveredFrom: annex.coveredFrom, coveredThrough: annex.coveredThrough, marks, gap: annex.gap };
}

/** Exact until the year 2255; the database's own times have microseconds. */
function microsOf(instant: Instant): number {
  const { seconds, nanos } = instantToParts(instant);
  return seconds * 1e6 + Math.floor(nanos / 1000);
}
