import { secondMs } from '@holdfast/contract';
import { useRef } from 'react';

interface Sample {
  readonly atMs: number;
  readonly documents: number;
}

/** Long enough to smooth batches, short enough to show that it got slower. */
const windowMs = 10 * secondMs;

/** Documents per second as seen by this page; undefined until it has seen some. */
export function usePace(documents: number): number | undefined {
  const samples = useRef<readonly Sample[]>([]);
  const last = samples.current.at(-1);
  if (last?.documents !== documents) {
    const now = { atMs: Date.now(), documents };
    // A retried job starts from zero.
    const before = last && last.documents < documents ? samples.current : [];
    samples.current = [...before.filter(({ atMs }, index) => isNear(atMs, now, before[index + 1])), now];
  }
  const [first, newest] = [samples.current[0], samples.current.at(-1)];
  if (!first || !newest || newest.atMs - first.atMs < secondMs / 2) return undefined;
  return ((newest.documents - first.documents) * secondMs) / (newest.atMs - first.atMs);
}

/** Keeps the last sample before the window as its start. */
const isNear = (atMs: number, now: Sample, next: Sample | undefined) =>
  now.atMs - atMs <= windowMs || next === undefined || now.atMs - next.atMs <= windowMs;
