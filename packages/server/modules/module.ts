import type { Handlers } from '../http/call.ts';
import type { PeriodicTask } from '../platform/periodic.ts';
import type { JobDefinition, JobHandler } from '../platform/queue.ts';

/** What a module brings to the house: calls it answers, jobs it works, tasks it repeats. */
export interface Module {
  readonly handlers: Handlers;
  readonly workers?: readonly Worker[];
  readonly tasks?: readonly PeriodicTask[];
  /** Long-running work of the worker role that is not a queue job, such as a dispatcher; returns how to stop it. */
  readonly run?: () => Promise<() => Promise<void>>;
}

export interface Worker {
  readonly job: JobDefinition<never>;
  readonly concurrency: number;
  readonly handler: JobHandler<never>;
}

export function worker<Data extends object>(
  job: JobDefinition<Data>,
  concurrency: number,
  handler: JobHandler<Data>,
): Worker {
  return { job: job as unknown as JobDefinition<never>, concurrency, handler: handler as unknown as JobHandler<never> };
}
