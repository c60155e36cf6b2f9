import type { HoldfastStream } from '@holdfast/contract/client';
import { useEffect, useRef, useState } from 'react';

const backoffMs = [500, 1000, 2000, 4000, 8000, 15_000];
/** A break shorter than this is nobody's business. */
const silentMs = 10_000;

export interface LiveState {
  /** Set when the stream has been away for long enough to say so. */
  readonly awaySince: number | null;
}

/**
 * Follows a stream of server-sent events and comes back after breaks. `follow` ends with the stream: a job that is over
 * is not followed again.
 */
export function useLive<Item>(
  key: string | null,
  open: (signal: AbortSignal) => Promise<HoldfastStream<Item>>,
  onItem: (item: Item) => boolean,
): LiveState {
  const [awaySince, setAwaySince] = useState<number | null>(null);
  const latest = useRef({ open, onItem });
  latest.current = { open, onItem };
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    void follow(stop.signal, latest, setAwaySince);
    return () => stop.abort();
  }, [key]);
  return { awaySince };
}

async function follow<Item>(
  signal: AbortSignal,
  latest: {
    current: { open: (signal: AbortSignal) => Promise<HoldfastStream<Item>>; onItem: (item: Item) => boolean };
  },
  setAwaySince: (since: number | null) => void,
): Promise<void> {
  let [failures, lastSeenMs] = [0, Date.now()];
  while (!signal.aborted) {
    try {
      for await (const item of await latest.current.open(signal)) {
        [failures, lastSeenMs] = [0, Date.now()];
        if (signal.aborted) return;
        setAwaySince(null);
        if (!latest.current.onItem(item)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if ((error as { status?: number }).status === 404 || (error as { status?: number }).status === 401) return;
    }
    if (Date.now() - lastSeenMs > silentMs) setAwaySince(lastSeenMs);
    await pause(backoffMs[Math.min(failures++, backoffMs.length - 1)] ?? 15_000, signal);
  }
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
