import type { Handlers } from '../http/call.ts';
import type { PeriodicTask } from '../platform/periodic.ts';
import type { JobDefinition, JobHandler, Queue } from '../platform/queue.ts';

/** What a module adds: handlers of calls, workers of jobs, periodic tasks. */
export interface Module {
  readonly handlers: Handlers;
  readonly workers?: readonly Worker[];
  readonly tasks?: readonly PeriodicTask[];
  /** Long-running work of the worker role that is not a queue job, such as a dispatcher; returns how to stop it. */
  readonly run?: () => Promise<() => Promise<void>>;
}

/** Runs the jobs of one kind; only its definition and its handler know the job's data. */
export interface Worker {
  start(queue: Queue): Promise<void>;
}

export function worker<Data extends object>(
  job: JobDefinition<Data>,
  concurrency: number,
  handler: JobHandler<Data>,
): Worker {
  return { start: (queue) => queue.work(job, concurrency, handler) };
}
