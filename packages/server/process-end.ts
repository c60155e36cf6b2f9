import type { App } from './app.ts';

/** For closing the rest after the jobs have had their grace period. */
const closingMs = 10_000;

/**
 * An uncaught error may have left something half done, so the process does not continue: it logs the error, finishes
 * what it can and ends with 1. The operator's supervisor restarts it, and its jobs are taken from the queue again.
 * Unhandled rejections end here too.
 */
export function endOnUnexpected(app: App): void {
  let isEnding = false;
  process.on('uncaughtException', (error, origin) => {
    app.platform.log.fatal(
      { err: error, origin },
      'something failed that nobody caught; the service ends to be restarted',
    );
    if (isEnding) return;
    isEnding = true;
    endInTime(app);
    app.close().finally(() => process.exit(1));
  });
}

/**
 * A silent database does not answer the goodbye either. Jobs that were not handed back are taken over as from a dead
 * process.
 */
export function endInTime({ platform: { config, log } }: App): void {
  const end = () => {
    log.error('the service could not close in time and ends as it is');
    process.exit(1);
  };
  setTimeout(end, config.SHUTDOWN_GRACE_SECONDS * 1000 + closingMs).unref();
}
