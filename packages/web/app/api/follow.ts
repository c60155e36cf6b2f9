import type { HoldfastStream } from '@holdfast/contract/client';

const backoffMs = [500, 1000, 2000, 4000, 8000, 15_000];
/** A break shorter than this is nobody's business. */
const silentMs = 10_000;
/** The service says at least so often that it is still there. */
const beatMsMax = 15_000;
/** A stream that held this long was a good one: the next break begins with the shortest pause. */
const goodMs = 5000;

export interface Live<Item> {
  open: (signal: AbortSignal) => Promise<Followed<Item>>;
  /** False: that was all, the stream is not opened again. */
  onItem: (item: Item) => boolean;
  onOpen?: (isFirst: boolean) => void;
  onBreak?: () => void;
}

type Followed<Item> = Pick<HoldfastStream<Item>, 'lastHeardMs' | typeof Symbol.asyncIterator>;

/** Whether somebody looks at the page. */
export interface Sight {
  untilSeen(stop: AbortSignal): Promise<void>;
  /** Aborts when nobody looks any more, and when all is over. */
  untilHidden(stop: AbortSignal): { signal: AbortSignal; end: () => void };
}

/** Opens the stream again and again, until it is over or nobody wants it any more. */
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

/** How long the service has been away, told once that is somebody's business: also while a question waits for its answer. */
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

  /** What fell silent has been away for as long; what was cut off is so from now on. */
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
