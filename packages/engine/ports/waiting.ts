import { AsyncLocalStorage } from 'node:async_hooks';

/** Hears why work waits for another try, and `undefined` once it goes on. */
export type WaitListener = (reason: unknown) => void;

/** Known to all calls below the work, so that no store and no source has to hand it on. */
const listeners = new AsyncLocalStorage<WaitListener>();

export function withWaitListener<Result>(listener: WaitListener, work: () => Result): Result {
  return listeners.run(listener, work);
}

/** Said by whatever is about to wait and to try again. */
export function noteWaiting(reason: unknown): void {
  listeners.getStore()?.(reason);
}

/** Said when the try after a wait has done it. */
export function noteGoingOn(): void {
  listeners.getStore()?.(undefined);
}
