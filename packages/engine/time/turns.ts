/**
 * Work that computes for long lets others have the thread between its slices. Of all that wait, one goes on in each turn
 * of the event loop: a call that needs several turns for its answer waits for as many slices, not for one of every job.
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
