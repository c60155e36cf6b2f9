/** Ends the wait when the signal fires, for calls that cannot be cancelled; `stop` is told to give up what it can. */
export async function abortable<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
  stop?: () => void,
): Promise<Result> {
  if (!signal) return promise;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason);
      stop?.();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  // Whichever loses must not count as unhandled.
  promise.catch(() => {});
  aborted.catch(() => {});
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}
