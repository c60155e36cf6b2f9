import { tuneCollector } from '@holdfast/engine';
import { type App, startApp } from './app.ts';
import type { Config } from './config.ts';
import type { OpenSampleRequest, Order } from './job-process.ts';
import type { NamedDatabase } from './modules/index.ts';
import { createProcessLogger } from './platform/log.ts';
import { endInTime, endOnUnexpected } from './process-end.ts';

/** Does the jobs of a service until it is told to stop. */
export async function runJobs(config: Config, ending: Promise<unknown>): Promise<void> {
  const log = createProcessLogger(config);
  let app: App | undefined;
  void ending.then(async () => {
    if (app) {
      endInTime(app);
      await app.close();
    }
    process.exit(0);
  });
  try {
    tuneCollector();
    app = await startApp(config, { log, openSample, listens: false });
  } catch (error) {
    log.fatal({ err: error }, 'the process of the jobs could not start');
    process.exit(1);
  }
  endOnUnexpected(app);
}

let requests = 0;

/** The sample lives in the parent, where calls look at it too. */
function openSample(named: NamedDatabase): Promise<string> {
  requests += 1;
  const request: OpenSampleRequest = { kind: 'open sample', request: requests, named };
  return new Promise((resolve) => {
    process.on('message', function listen(order: Order) {
      if (order.kind !== 'sample opened' || order.request !== request.request) return;
      process.off('message', listen);
      resolve(order.address);
    });
    process.send?.(request);
  });
}
