import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Cluster, Session } from './cluster.ts';

export interface CallersOptions {
  url: string;
  /** The headers each caller sends; they are dealt out in turn. */
  identities: readonly Record<string, string>[];
  callers: number;
  pauseMs: number;
}

/** Callers who never stop asking, on a thread of their own, so that only the service can keep them waiting. */
export class Callers {
  readonly #thread: Worker;

  constructor(options: CallersOptions) {
    this.#thread = new Worker(new URL('./caller-thread.ts', import.meta.url), { workerData: options });
  }

  static ofBackups(
    cluster: Cluster,
    session: Session,
    { callers, pauseMs }: Pick<CallersOptions, 'callers' | 'pauseMs'>,
  ) {
    const headers = { authorization: `Bearer ${session.token}`, 'x-organization-id': session.organizationId };
    return new Callers({ url: `${cluster.address}/api/v1/backups`, identities: [headers], callers, pauseMs });
  }

  /** How long each answer took, in milliseconds, since the last time this was asked. */
  async latencies(): Promise<number[]> {
    this.#thread.postMessage('tell');
    const [measured] = (await once(this.#thread, 'message')) as [number[]];
    return measured;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
