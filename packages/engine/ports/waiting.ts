import { AsyncLocalStorage } from 'node:async_hooks';

/** Is told how requests of some work to other systems proceed. */
export interface WaitListener {
  /** The reason why the work waits before another attempt; `undefined` once it goes on. */
  hear(reason: unknown): void;
  /**
   * A request begins and sends this many bytes. The returned function is called at its end, with whether it was
   * answered well.
   */
  began(bytesToSend: number): (isAnswered: boolean) => void;
  /** This many bytes of an answer were received. */
  arrived(bytes: number): void;
}

/** Visible to all calls inside the work, so that stores and sources need not pass it on. */
const listeners = new AsyncLocalStorage<WaitListener>();

export function withWaitListener<Result>(listener: WaitListener, work: () => Result): Result {
  return listeners.run(listener, work);
}

/** Called before waiting for another attempt. */
export function noteWaiting(reason: unknown): void {
  listeners.getStore()?.hear(reason);
}

/** Called when the attempt after a wait has succeeded. */
export function noteResumed(): void {
  listeners.getStore()?.hear(undefined);
}

/** Called while a long answer is being received. */
export function noteReceived(bytes: number): void {
  listeners.getStore()?.arrived(bytes);
}

/** Wraps one request, so that the listener notices when it is never answered. */
export async function trackRequest<Result>(bytesToSend: number, request: () => Promise<Result>): Promise<Result> {
  const end = listeners.getStore()?.began(bytesToSend);
  if (!end) return request();
  try {
    const result = await request();
    end(true);
    return result;
  } catch (error) {
    end(false);
    throw error;
  }
}
