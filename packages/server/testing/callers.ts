import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Cluster, Session } from './cluster.ts';

export interface CallersOptions {
  url: string;
  /** The headers of the callers, assigned in turn. */
  identities: readonly Record<string, string>[];
  callers: number;
  pauseMs: number;
}

/** Callers that never pause, on a separate thread, so that only the service can delay them. */
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

  /** How long each answer took, in milliseconds, since the last call of this method. */
  async latencies(): Promise<number[]> {
    this.#thread.postMessage('tell');
    const [measured] = (await once(this.#thread, 'message')) as [number[]];
    return measured;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
