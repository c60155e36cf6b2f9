type Turns = Map<string, Promise<void>>;

const turnsOf = new WeakMap<object, Turns>();

/**
 * A process writes one range of a restore at a time, so it needs no more memory and sends no more to the target than
 * for a restore without ranges. Later calls wait, and then take whichever range is left.
 */
export async function oneAtATime<Result>(
  process: object,
  restoreId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const turns = turnsOf.get(process) ?? new Map<string, Promise<void>>();
  turnsOf.set(process, turns);
  const before = turns.get(restoreId) ?? Promise.resolve();
  const run = before.then(work);
  const over = run.then(nothing, nothing);
  turns.set(restoreId, over);
  try {
    return await run;
  } finally {
    if (turns.get(restoreId) === over) turns.delete(restoreId);
  }
}

function nothing(): void {}
