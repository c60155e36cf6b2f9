/**
 * Long computations let others use the thread between their slices. Each turn of the event loop continues only one of
 * the waiting computations: a call that needs several turns then waits for as many slices, and not for one slice of
 * every job.
 */
const waiting: (() => void)[] = [];

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}
