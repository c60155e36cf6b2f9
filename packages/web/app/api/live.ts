import type { HoldfastStream } from '@holdfast/contract/client';
import { useEffect, useRef, useState } from 'react';

const backoffMs = [500, 1000, 2000, 4000, 8000, 15_000];
/** A break shorter than this is nobody's business. */
const silentMs = 10_000;
/** A stream that held this long was a good one: the next break begins with the shortest pause. */
const goodMs = 5000;

export interface LiveState {
  /** Set when the stream has been away for long enough to say so. */
  readonly awaySince: number | null;
}

interface Live<Item> {
  open: (signal: AbortSignal) => Promise<HoldfastStream<Item>>;
  /** False: that was all, the stream is not opened again. */
  onItem: (item: Item) => boolean;
  onOpen?: (isFirst: boolean) => void;
  onBreak?: () => void;
}

/**
 * Follows a stream of server-sent events and comes back after breaks. A page nobody sees follows nothing: a browser has
 * few connections to one place, and its tabs share them.
 */
export function useLive<Item>(key: string | null, live: Live<Item>): LiveState {
  const [awaySince, setAwaySince] = useState<number | null>(null);
  const latest = useRef(live);
  latest.current = live;
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    void follow(stop.signal, latest, setAwaySince);
    return () => stop.abort();
  }, [key]);
  return { awaySince };
}

async function follow<Item>(
  stop: AbortSignal,
  latest: { readonly current: Live<Item> },
  setAwaySince: (since: number | null) => void,
): Promise<void> {
  let [failures, lastSeenMs, isFirst] = [0, Date.now(), true];
  while (!stop.aborted) {
    await untilSeen(stop);
    const hidden = untilHidden(stop);
    const startedMs = Date.now();
    const see = () => {
      lastSeenMs = Date.now();
      setAwaySince(null);
    };
    try {
      const stream = await latest.current.open(hidden.signal);
      see();
      latest.current.onOpen?.(isFirst);
      isFirst = false;
      for await (const item of stream) {
        if (hidden.signal.aborted) break;
        see();
        if (!latest.current.onItem(item)) return;
      }
      lastSeenMs = Date.now();
    } catch (error) {
      const { status } = error as { status?: number };
      if (!stop.aborted && (status === 404 || status === 401 || status === 403)) return;
    } finally {
      latest.current.onBreak?.();
      hidden.end();
    }
    if (hidden.signal.aborted) continue;
    if (Date.now() - startedMs > goodMs) failures = 0;
    if (Date.now() - lastSeenMs > silentMs) setAwaySince(lastSeenMs);
    await pause(backoffMs[Math.min(failures++, backoffMs.length - 1)] ?? 15_000, stop);
  }
}

const whenSeen = 'visibilitychange';

function untilSeen(stop: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible' || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      if (document.visibilityState !== 'visible' && !stop.aborted) return;
      document.removeEventListener(whenSeen, done);
      resolve();
    };
    document.addEventListener(whenSeen, done);
    stop.addEventListener('abort', done, { once: true });
  });
}

/** Aborts when nobody looks any more, and when all is over. */
function untilHidden(stop: AbortSignal): { signal: AbortSignal; end: () => void } {
  const hidden = new AbortController();
  const listen = () => document.visibilityState !== 'visible' && hidden.abort();
  document.addEventListener(whenSeen, listen);
  return {
    signal: AbortSignal.any([stop, hidden.signal]),
    end: () => document.removeEventListener(whenSeen, listen),
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
