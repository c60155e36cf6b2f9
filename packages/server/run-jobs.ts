import { once } from 'node:events';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Order } from './job-process.ts';
import { endOnSignal } from './platform/end-on-signal.ts';
import { lowerProcessPriority } from './platform/process-priority.ts';

// The program of the process that does the jobs; the process that answers calls starts it.
lowerProcessPriority();
// Nobody would end it. Its jobs are taken over as from a dead process.
process.once('disconnect', () => process.exit(1));
const begin = once(process, 'message') as Promise<[Order]>;
const told = new Promise<void>((resolve) => {
  process.on('message', ({ kind }: Order) => {
    if (kind === 'stop') resolve();
  });
});
// A terminal sends its signal to every process in it.
const ending = Promise.race([told, endOnSignal()]);
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
const { runJobs } = await import('./jobs.ts');
const [order] = await begin;
if (order.kind === 'begin') await runJobs(order.config, ending);
