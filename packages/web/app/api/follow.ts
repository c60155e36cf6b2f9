import type { HoldfastStream } from '@holdfast/contract/client';

const backoffMs = [500, 1000, 2000, 4000, 8000, 15_000];
/** Shorter breaks are not shown. */
const silentMs = 10_000;
/** The longest silence of a healthy stream. */
const beatMsMax = 15_000;
/** After a stream has lasted this long, the next reconnect begins with the shortest pause again. */
const goodMs = 5000;

export interface Live<Item> {
  open: (signal: AbortSignal) => Promise<Followed<Item>>;
  /** False: the stream is complete and not opened again. */
  onItem: (item: Item) => boolean;
  onOpen?: (isFirst: boolean) => void;
  onBreak?: () => void;
}

type Followed<Item> = Pick<HoldfastStream<Item>, 'lastHeardMs' | typeof Symbol.asyncIterator>;

/** Whether the page is visible. */
export interface Sight {
  untilSeen(stop: AbortSignal): Promise<void>;
  /** Aborts when the page is hidden and when following ends. */
  untilHidden(stop: AbortSignal): { signal: AbortSignal; end: () => void };
}

/** Reopens the stream until it is complete or no longer wanted. */
export async function follow<Item>(
  stop: AbortSignal,
  latest: { readonly current: Live<Item> },
  setAwaySince: (since: number | null) => void,
  { untilSeen, untilHidden }: Sight,
): Promise<void> {
  let [failures, isFirst] = [0, true];
  const absence = new Absence(setAwaySince);
  stop.addEventListener('abort', () => absence.forget());
  while (!stop.aborted) {
    await untilSeen(stop);
    const hidden = untilHidden(stop);
    const startedMs = Date.now();
    let stream: Followed<Item> | undefined;
    try {
      stream = await latest.current.open(hidden.signal);
      absence.ends();
      latest.current.onOpen?.(isFirst);
      isFirst = false;
      for await (const item of stream) {
        if (hidden.signal.aborted) break;
        if (!latest.current.onItem(item)) return;
      }
    } catch (error) {
      const { status } = error as { status?: number };
      if (!stop.aborted && (status === 404 || status === 401 || status === 403)) return absence.ends();
    } finally {
      latest.current.onBreak?.();
      hidden.end();
    }
    if (stream) absence.heard(stream.lastHeardMs);
    if (hidden.signal.aborted) continue;
    absence.begins(stream !== undefined && Date.now() - stream.lastHeardMs > beatMsMax);
    if (Date.now() - startedMs > goodMs) failures = 0;
    await pause(backoffMs[Math.min(failures++, backoffMs.length - 1)] ?? 15_000, stop);
  }
}

/** Reports how long the service has been away, once that is worth showing, also while a call waits. */
class Absence {
  readonly #tell: (since: number | null) => void;
  #heardMs = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tell: (since: number | null) => void) {
    this.#tell = tell;
  }

  heard(atMs: number): void {
    this.#heardMs = Math.max(this.#heardMs, atMs);
  }

  /** A silent stream has been away since its last message, a broken one since now. */
  begins(wasSilent: boolean): void {
    this.#timer ??= setTimeout(() => this.#tell(this.#heardMs), wasSilent ? 0 : silentMs);
  }

  ends(): void {
    this.forget();
    this.#heardMs = Date.now();
    this.#tell(null);
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
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
