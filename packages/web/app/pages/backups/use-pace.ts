import { secondMs } from '@holdfast/contract';
import { useRef } from 'react';

interface Sample {
  readonly atMs: number;
  readonly documents: number;
}

/** Long enough that documents which arrive in heaps make a steady figure, short enough to tell that it got slower. */
const windowMs = 10 * secondMs;

/** Documents per second, as this page has seen them; undefined until it has seen some come. */
export function usePace(documents: number): number | undefined {
  const samples = useRef<readonly Sample[]>([]);
  const last = samples.current.at(-1);
  if (last?.documents !== documents) {
    const now = { atMs: Date.now(), documents };
    // A job that is tried again begins anew.
    const before = last && last.documents < documents ? samples.current : [];
    samples.current = [...before.filter(({ atMs }, index) => isNear(atMs, now, before[index + 1])), now];
  }
  const [first, newest] = [samples.current[0], samples.current.at(-1)];
  if (!first || !newest || newest.atMs - first.atMs < secondMs / 2) return undefined;
  return ((newest.documents - first.documents) * secondMs) / (newest.atMs - first.atMs);
}

/** The one before the window is kept as its beginning. */
const isNear = (atMs: number, now: Sample, next: Sample | undefined) =>
  now.atMs - atMs <= windowMs || next === undefined || now.atMs - next.atMs <= windowMs;
