import type { ContenderResult, ContenderTask } from './contender.ts';
import { type ContenderName, contenders } from './registry.ts';

/** The process around a contender: runs what it is told, measures time and memory. */
const contender = await contenders[process.argv[2] as ContenderName]();

process.on('message', (task: ContenderTask) => {
  const startedAtMs = performance.now();
  contender(task).then(
    (result) => {
      const seconds = (performance.now() - startedAtMs) / 1000;
      const answer: ContenderResult = { ...result, seconds, peakRssBytes: process.resourceUsage().maxRSS * 1024 };
      process.send?.(answer);
    },
    (error: unknown) => process.send?.({ failure: error instanceof Error ? `${error.stack}` : String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
