/** The same wish, told by the terminal to all that runs there and by npm to what it started, arrives twice within this time. */
const sameWishMs = 500;

/**
 * Resolved with the signal, when somebody asks for the end. Heard from the first moment on: a service that is told to stop while it starts
 * stops when it has started, and leaves no database server behind. A terminal that is closed asks by SIGHUP, and nobody
 * reads any more then. Who asks twice does not want to wait.
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
