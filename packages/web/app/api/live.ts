import { useEffect, useRef, useState } from 'react';
import { follow, type Live, type Sight } from './follow.ts';

export interface LiveState {
  /** Set once the stream has been broken long enough to say so. */
  readonly awaySince: number | null;
}

/**
 * Follows a stream of server-sent events and reconnects after breaks. A hidden page closes its stream, because a browser has
 * few connections per origin and all tabs share them.
 */
export function useLive<Item>(key: string | null, live: Live<Item>): LiveState {
  const [awaySince, setAwaySince] = useState<number | null>(null);
  const latest = useRef(live);
  latest.current = live;
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    void follow(stop.signal, latest, setAwaySince, sight);
    return () => stop.abort();
  }, [key]);
  return { awaySince };
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

function untilHidden(stop: AbortSignal): { signal: AbortSignal; end: () => void } {
  const hidden = new AbortController();
  const listen = () => document.visibilityState !== 'visible' && hidden.abort();
  document.addEventListener(whenSeen, listen);
  return {
    signal: AbortSignal.any([stop, hidden.signal]),
    end: () => document.removeEventListener(whenSeen, listen),
  };
}

const sight: Sight = { untilSeen, untilHidden };
