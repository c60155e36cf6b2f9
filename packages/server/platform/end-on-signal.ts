/**
 * One request to stop can arrive twice within this time: from the terminal to every process in it, and from npm to its
 * child.
 */
const sameWishMs = 500;

/**
 * Resolves with the signal that asks the process to end. Listens from the very start: a service that is told to stop
 * during its start stops right after it and leaves no database server behind. A closed terminal sends SIGHUP, and then
 * nobody reads the output any more. A second request ends the process at once.
 */
export function endOnSignal(): Promise<NodeJS.Signals> {
  let askedMs: number | undefined;
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        if (signal === 'SIGHUP') for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
        if (askedMs !== undefined && performance.now() - askedMs > sameWishMs) process.exit(1);
        askedMs ??= performance.now();
        resolve(signal);
      });
  });
}
