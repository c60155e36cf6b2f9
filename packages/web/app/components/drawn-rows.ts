import { useEffect, useRef, useState } from 'react';

/** Indexes of rows, both ends included. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** Rows drawn above and below the visible ones, so that slow scrolling shows no gap. */
const beyondRows = 6;
/** Each new row costs style, layout and paint, about a millisecond together: so few at once leave a slow machine its frames. */
const rowsPerFrame = 5;
const untilSeen: RowRange = { first: 0, last: 30 };

/**
 * Which rows are drawn. They catch up with the visible range by a few rows per frame, so that no jump blocks the page. The
 * visible range is unknown until the first layout.
 */
export function useDrawnRows(seen: RowRange | undefined, count: number): RowRange {
  const wanted = { seen: seen ?? untilSeen, count };
  const latest = useRef(wanted);
  const [drawn, setDrawn] = useState(() => aroundOf(wanted.seen, count));
  const frame = useRef(0);
  useEffect(() => {
    latest.current = wanted;
    if (frame.current !== 0 || isSame(drawn, nextOf(drawn, wanted.seen, count))) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setDrawn((former) => nextOf(former, latest.current.seen, latest.current.count));
    });
  });
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return { first: Math.min(drawn.first, count), last: Math.min(drawn.last, count - 1) };
}

const isSame = (a: RowRange, b: RowRange) => a.first === b.first && a.last === b.last;

function aroundOf({ first, last }: RowRange, count: number): RowRange {
  return { first: Math.max(0, first - beyondRows), last: Math.min(count - 1, last + beyondRows) };
}

/** Drops far rows at once; adds visible rows first, then those below, then those above. */
function nextOf(drawn: RowRange, seen: RowRange, count: number): RowRange {
  const wanted = aroundOf(seen, count);
  const kept = { first: Math.max(drawn.first, wanted.first), last: Math.min(drawn.last, wanted.last) };
  if (kept.first > kept.last) return { first: seen.first, last: Math.min(wanted.last, seen.first + rowsPerFrame - 1) };
  if (kept.first > seen.first) return { ...kept, first: Math.max(wanted.first, kept.first - rowsPerFrame) };
  if (kept.last < wanted.last) return { ...kept, last: Math.min(wanted.last, kept.last + rowsPerFrame) };
  return { ...kept, first: Math.max(wanted.first, kept.first - rowsPerFrame) };
}
