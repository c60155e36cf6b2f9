import type { ChildProcess } from 'node:child_process';
import type { Cluster } from './cluster.ts';

type Role = 'scheduler' | 'worker';

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Schedulers and workers, of which again and again one is killed and replaced. */
export class RoleKiller {
  readonly #cluster: Cluster;
  readonly #everyMs: number;
  readonly #processes: { role: Role; child: ChildProcess }[] = [];
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  kills = 0;

  constructor(cluster: Cluster, everyMs: number) {
    this.#cluster = cluster;
    this.#everyMs = everyMs;
  }

  async start(roles: readonly Role[]): Promise<void> {
    for (const role of roles) this.#processes.push({ role, child: await this.#cluster.startRole(role) });
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await pause(Math.random() * 2 * this.#everyMs);
      const victim = this.#processes[Math.floor(Math.random() * this.#processes.length)];
      if (this.#stopped || !victim) return;
      victim.child.kill('SIGKILL');
      this.kills++;
      victim.child = await this.#cluster.startRole(victim.role);
    }
  }
}
