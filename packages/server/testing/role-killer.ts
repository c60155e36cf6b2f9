import type { ChildProcess } from 'node:child_process';
import type { Cluster } from './cluster.ts';
import { Repetition } from './repetition.ts';

type Role = 'scheduler' | 'worker';

/** Schedulers and workers, one of which is repeatedly killed and replaced. */
export class RoleKiller {
  readonly #cluster: Cluster;
  readonly #repetition: Repetition;
  readonly #processes: { role: Role; child: ChildProcess }[] = [];
  kills = 0;

  constructor(cluster: Cluster, everyMs: number) {
    this.#cluster = cluster;
    this.#repetition = new Repetition(
      () => Math.random() * 2 * everyMs,
      () => this.#killOne(),
    );
  }

  async start(roles: readonly Role[]): Promise<void> {
    for (const role of roles) this.#processes.push({ role, child: await this.#cluster.startRole(role) });
    this.#repetition.start();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  async #killOne(): Promise<void> {
    const victim = this.#processes[Math.floor(Math.random() * this.#processes.length)];
    if (!victim) return;
    victim.child.kill('SIGKILL');
    this.kills++;
    victim.child = await this.#cluster.startRole(victim.role);
  }
}
