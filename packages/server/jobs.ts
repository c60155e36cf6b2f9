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
    process.on('message', hearOfSample);
    app = await startApp(config, { log, openSample, listens: false });
  } catch (error) {
    log.fatal({ err: error }, 'the process of the jobs could not start');
    process.exit(1);
  }
  endOnUnexpected(app);
}

let requests = 0;
const asked = new Map<number, { resolve(address: string): void; reject(reason: Error): void }>();

function hearOfSample(order: Order): void {
  if (order.kind !== 'sample opened' && order.kind !== 'sample not opened') return;
  const waiting = asked.get(order.request);
  asked.delete(order.request);
  if (order.kind === 'sample opened') waiting?.resolve(order.address);
  else waiting?.reject(new Error(`The sample database could not be opened: ${order.reason}`));
}

/** The sample lives in the parent, where calls look at it too. */
function openSample(named: NamedDatabase): Promise<string> {
  requests += 1;
  const request: OpenSampleRequest = { kind: 'open sample', request: requests, named };
  return new Promise((resolve, reject) => {
    asked.set(request.request, { resolve, reject });
    process.send?.(request);
  });
}
