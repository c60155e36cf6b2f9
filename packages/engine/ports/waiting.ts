import { AsyncLocalStorage } from 'node:async_hooks';

/** Hears how work fares that asks others for something. */
export interface WaitListener {
  /** Why it waits for another try, and `undefined` once it goes on. */
  hear(reason: unknown): void;
  /** A request begins that sends so many bytes. What comes back is called at its end, with whether it was answered well. */
  began(bytesToSend: number): (isAnswered: boolean) => void;
  /** So many bytes of an answer have come. */
  arrived(bytes: number): void;
}

/** Known to all calls below the work, so that no store and no source has to hand it on. */
const listeners = new AsyncLocalStorage<WaitListener>();

export function withWaitListener<Result>(listener: WaitListener, work: () => Result): Result {
  return listeners.run(listener, work);
}

/** Said by whatever is about to wait and to try again. */
export function noteWaiting(reason: unknown): void {
  listeners.getStore()?.hear(reason);
}

/** Said when the try after a wait has done it. */
export function noteGoingOn(): void {
  listeners.getStore()?.hear(undefined);
}

/** Said while a long answer comes. */
export function noteArrived(bytes: number): void {
  listeners.getStore()?.arrived(bytes);
}

/** Around one request, so that somebody knows when it is never answered. */
export async function asRequest<Result>(bytesToSend: number, request: () => Promise<Result>): Promise<Result> {
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
